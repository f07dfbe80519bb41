-- The waiters: which one is first (SPEC 3.5), granting them (3.7), and the messages to their clients (10.10).
queue = {

-- Returns the first waiter in order; nil: nobody waits.
first = function()
    if lock[UPGRADE] ~= '' then -- SPEC 4.2
        return select(2, ask.pair(lock[UPGRADE]))
    end
    local reader = lock[READERS] > 0 and ask.head(READ) or nil
    local writer = lock[WRITERS] > 0 and ask.head(WRITE) or nil
    if not reader or not writer then return reader or writer end
    local policy = lock[POLICY]
    if policy == FAIR then return reader[TICKET] < writer[TICKET] and reader or writer end
    return (policy == PREFER_WRITER or policy == PHASE_FAIR and lock[PHASE] == READ) and writer or reader
end,

-- Comes before the first change of holds and waiters.
unsettle = function()
    if not lock[UNSETTLED] then lock[UNSETTLED], lock[FIRST] = true, queue.first() end
end,

-- Makes a record a waiter with the next ticket, and the last record.
add = function(record, upgrades)
    lock[LAST_TICKET] = lock[LAST_TICKET] + 1
    record[KIND], record[TICKET], record[STORED] = WAITER, lock[LAST_TICKET], nil
    if upgrades then
        lock[UPGRADE] = record[HANDLE]
    else
        lock[READERS + record[WRITES]] = lock[READERS + record[WRITES]] + 1
    end
    records[#records + 1], lock[CHANGED] = record, true
end,

-- Also for a missed waiter.
remove = function(waiter)
    queue.unsettle()
    if waiter[KIND] == MISSED then
        lock[MISSES] = lock[MISSES] - 1
    elseif lock[UPGRADE] == waiter[HANDLE] then
        lock[UPGRADE] = ''
    else
        lock[READERS + waiter[WRITES]] = lock[READERS + waiter[WRITES]] - 1
    end
    waiter[KIND], waiter[STORED], lock[CHANGED] = GONE, nil, true
end,

-- Adds a line to the message for the client of a record. `fence` is text.
tell = function(record, kind, req, fence, ms, flags)
    local handle, messages = record[HANDLE], lock[MESSAGES]
    local client = string.sub(handle, 1, 32)
    if req > 1e13 then req = string.format('%.0f', req) end -- `..` would round it
    local line = kind .. handle .. ' ' .. req .. ' ' .. fence .. ' ' .. now_text .. string.format(' %d %d', ms, flags)
    local at = 1
    while messages and messages[at] and messages[at] ~= client do at = at + 2 end
    if not messages then
        lock[MESSAGES] = { client, line }
    else
        messages[at], messages[at + 1] = client, messages[at] and messages[at + 1] .. '\n' .. line or line
    end
end,

-- SPEC 3.7. Returns the first waiter that is left.
settle = function()
    local phase, first
    repeat
        first = queue.first()
        while first and lk.is_compatible(first, first[WRITES]) do
            local hold, mode, req = nil, first[WRITES], first[LAST_REQ]
            if lock[UPGRADE] == first[HANDLE] then hold = ask.pair(first[HANDLE]) end
            queue.remove(first)
            if not hold then
                hold, lock[HANDED_OVER] = first, true -- SPEC 5.3
                first[DUE] = now + math.min(CLAIM, first[LEASE])
            end
            lk.give(hold, mode, req, 0, false)
            if hold == first then hold[KIND] = UNCLAIMED end
            hold[GRANTED_FOR] = req
            local fence = hold[FENCE]
            queue.tell(first, 'granted ', req, fence == now and now_text or string.format('%.0f', fence),
                math.floor((hold[DUE] - now) / 1000), (lock[MARK] > 0 and 1 or 0) + 2 * lock[POLICY]) -- SPEC 10.3
            first = queue.first()
        end
        -- A new phase is a new order, and its first waiter may be compatible.
        phase = lock[PHASE]
        if lock[HOLDS] > 0 then lock[PHASE] = lock[WRITE_HOLDS] > 0 and WRITE or READ end
    until lock[PHASE] == phase
    return first
end,
}
