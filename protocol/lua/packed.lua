-- A packed lock: the header and all records are one string. The records are few, so each question is a
-- scan. indexed.lua has the same functions for an indexed lock.
--@include limits.lua

-- Returns the hold and the waiter of a handle.
pair = function(handle)
    local hold, waiter
    for record = HEADER_LENGTH, lk.last_record, RECORD_LENGTH do
        if lock[record + HANDLE] == handle then
            local kind = lock[record + KIND]
            if kind == HOLD then
                hold = record
            elseif kind ~= GONE then
                waiter = record
            end
        end
    end
    return hold, waiter
end,

-- Returns how many holds the owner of a record has, and how many holds of its group have reads.
counts_of = function(like)
    local owner, group, of_owner, of_group = lock[like + OWNER], lock[like + GROUP], 0, 0
    if owner == '' then owner = lock[like + HANDLE] end
    for record = HEADER_LENGTH, lk.last_record, RECORD_LENGTH do
        if lock[record + KIND] == HOLD then
            if lock[record + OWNER] == owner or (lock[record + OWNER] == '' and lock[record + HANDLE] == owner) then
                of_owner = of_owner + 1
            end
            if lock[record + READS] > 0 and lock[record + GROUP] == group then of_group = of_group + 1 end
        end
    end
    return of_owner, of_group
end,

-- Returns the waiter of a mode with the lowest ticket, without the upgrade; and how many have a ticket below
-- `ticket`.
head = function(mode, ticket)
    local count, first = 0
    for record = HEADER_LENGTH, lk.last_record, RECORD_LENGTH do
        if lock[record + KIND] == WAITER and lock[record + MODE] == mode
            and lock[record + HANDLE] ~= lock[UPGRADE] then
            if not first or lock[record + TICKET] < lock[first + TICKET] then first = record end
            if ticket and lock[record + TICKET] < ticket then count = count + 1 end
        end
    end
    return first, count
end,

-- Returns the earliest deadline of all holds and waiters.
earliest = function()
    local earliest = math.huge
    for record = HEADER_LENGTH, lk.last_record, RECORD_LENGTH do
        if lock[record + KIND] <= WAITER and lock[record + DUE] < earliest then earliest = lock[record + DUE] end
    end
    return earliest
end,

-- Writes the lock. Returns an error if there is one; nothing has changed then.
save = function()
    local record, last, latest = HEADER_LENGTH, lk.last_record, 0
    while record <= last do
        if lock[record + KIND] == GONE then -- the last record takes its place
            for field = 1, RECORD_LENGTH do lock[record + field] = lock[last + field] end
            last = last - RECORD_LENGTH
        else
            local due = lock[record + DUE]
            if due > latest and lock[record + KIND] ~= MISSED then latest = due end
            record = record + RECORD_LENGTH
        end
    end
    lk.last_record = last
    local count = (last - HEADER_LENGTH) / RECORD_LENGTH + 1
    if count > MOST then
        lk.make_index()
        return lk.grow()
    end
    lock[COUNT] = count
    return lk.set(struct.pack(lk.format(count),
        unpack(lock, 1, HEADER_LENGTH + count * RECORD_LENGTH)), latest)
end,
