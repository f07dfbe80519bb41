-- A packed lock: the header and all records are one string. The records are few, so each question is a
-- scan. indexed.lua has the same functions for an indexed lock.
--@include limits.lua
local packed = {

-- Returns the hold and the waiter of a handle.
pair = function(handle)
    local hold, waiter
    for at = 1, #records do
        local record = records[at]
        local kind = record[HANDLE] == handle and record[KIND] or GONE
        if kind < WAITER then
            hold = record
        elseif kind < GONE then
            waiter = record
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
}
