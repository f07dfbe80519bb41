-- A packed lock: the header and all records are one string. The records are few, so each question is a
-- scan. indexed.lua has the same functions for an indexed lock.
--@include limits.lua

-- Returns the hold and the waiter of a handle.
pair = function(handle)
    local hold, waiter
    for at = 1, #records do
        local record = records[at]
        if record[HANDLE] == handle then
            if record[KIND] < WAITER then
                hold = record
            elseif record[KIND] ~= GONE then
                waiter = record
            end
        end
    end
    return hold, waiter
end,

-- Returns how many holds the owner of a record has, and how many holds of its group have reads.
counts_of = function(like)
    local owner, group, of_owner, of_group = like[OWNER], like[GROUP], 0, 0
    if owner == '' then owner = like[HANDLE] end
    for at = 1, #records do
        local record = records[at]
        if record[KIND] < WAITER then
            if record[OWNER] == owner or (record[OWNER] == '' and record[HANDLE] == owner) then
                of_owner = of_owner + 1
            end
            if record[READS] > 0 and record[GROUP] == group then of_group = of_group + 1 end
        end
    end
    return of_owner, of_group
end,

-- Returns the waiter of a mode with the lowest ticket, without the upgrade: the records stand in that order.
head = function(mode)
    for at = 1, #records do
        local record = records[at]
        if record[KIND] == WAITER and record[WRITES] == mode and record[HANDLE] ~= lock[UPGRADE] then return record end
    end
end,

-- Returns how many waiters of a mode, without the upgrade, have a ticket below `ticket`.
rank = function(mode, ticket)
    local count = 0
    for at = 1, #records do
        local record = records[at]
        if record[KIND] == WAITER and record[WRITES] == mode and record[TICKET] < ticket
            and record[HANDLE] ~= lock[UPGRADE] then
            count = count + 1
        end
    end
    return count
end,

-- Returns the earliest deadline of all holds and waiters.
earliest = function()
    local earliest = math.huge
    for at = 1, #records do
        local record = records[at]
        if record[KIND] <= WAITER and record[DUE] < earliest then earliest = record[DUE] end
    end
    return earliest
end,

-- Writes the lock. Records that have not changed are copied from the value that was read. Returns an error if there
-- is one; nothing has changed then.
save = function()
    local pieces, count, latest = { '' }, 0, 0
    local from, to = 0, -1 -- unchanged records, side by side
    for at = 1, #records do
        local record = records[at]
        local kind, stop = record[KIND], record[STORED]
        if kind ~= GONE then
            count = count + 1
            if kind ~= MISSED and record[DUE] > latest then latest = record[DUE] end
            if stop and record[START] == to + 1 then
                to = stop - 1
            else
                if to > from then pieces[#pieces + 1] = string.sub(value, from, to) end
                if stop then
                    from, to = record[START], stop - 1
                else
                    from, to = 0, -1
                    pieces[#pieces + 1] = struct.pack(RECORD_FORMAT, unpack(record, RECORD_FROM, RECORD_TO))
                end
            end
        end
    end
    if count > MOST then
        lk.make_index()
        return indexed.grow()
    end
    if to > from then pieces[#pieces + 1] = string.sub(value, from, to) end
    if lock[MARK] + lock[FLOOR] == 0 and lock[UPGRADE] == '' then
        pieces[1] = struct.pack(PLAIN_FORMAT, MAGIC, PLAIN, count, unpack(lock, 1, PLAIN_TO))
    else
        pieces[1] = struct.pack(FULL_FORMAT, MAGIC, FULL, count, unpack(lock, 1, FULL_TO))
    end
    return lk.write('SET', table.concat(pieces), 'PXAT', lk.expiry(latest))
end,

-- Writes the deadline of `moved`, if nothing else has changed. Returns an error if there is one.
save_due = function(moved)
    local latest = 0
    for at = 1, #records do
        local record = records[at]
        if record[KIND] ~= MISSED and record[DUE] > latest then latest = record[DUE] end
    end
    if moved[START] ~= due_start then
        due_start, due_offset = moved[START], string.format('%d', moved[START] + DUE_AT - 1)
    end
    if moved[DUE] ~= due then due, due_bytes = moved[DUE], struct.pack('<d', moved[DUE]) end
    -- The answer of a full server is not the length: see write.
    local fault = redis.pcall('SETRANGE', key, due_offset, due_bytes) ~= #value
        and lk.write('SETRANGE', due_offset, due_bytes)
    if fault then return fault end
    redis.call('PEXPIREAT', key, lk.expiry(latest))
end,
