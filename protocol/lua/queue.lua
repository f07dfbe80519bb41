-- The waiters: their order (SPEC 3.5), granting them (3.7), and the messages to their clients (10.10).
queue = {

-- Returns how many writers stand before the readers; nil: their tickets decide.
writers_before_readers = function()
    local policy = lock[POLICY]
    if policy == FAIR then return nil end
    if policy == PHASE_FAIR then return lock[PHASE] == READ and 1 or 0 end
    return policy == PREFER_WRITER and math.huge or 0
end,

-- Returns the first waiter in order; nil: nobody waits.
first = function()
    if lock[UPGRADE] ~= '' then -- SPEC 4.2
        local _, upgrade = lk.pair(lock[UPGRADE])
        return upgrade
    end
    local reader = lock[READERS] > 0 and lk.head(READ) or nil
    local writer = lock[WRITERS] > 0 and lk.head(WRITE) or nil
    if not reader or not writer then return reader or writer end
    local before = queue.writers_before_readers()
    if before then return before > 0 and writer or reader end
    return reader[TICKET] < writer[TICKET] and reader or writer
end,

place = function(waiter)
    if lock[UPGRADE] == waiter[HANDLE] then return 1 end
    local mode, ticket = waiter[WRITES], waiter[TICKET]
    local _, rank = lk.head(mode, ticket)
    local theirs, before, others = lock[WRITERS - mode], queue.writers_before_readers(), 0
    if theirs > 0 and not before then
        _, others = lk.head(1 - mode, ticket)
    elseif mode == READ then
        others = math.min(before or 0, theirs)
    elseif rank >= (before or 0) then
        others = theirs
    end
    return rank + others + (lock[UPGRADE] ~= '' and 2 or 1)
end,

-- Makes a record a waiter with the next ticket.
add = function(record, upgrades)
    lock[LAST_TICKET] = lock[LAST_TICKET] + 1
    record[KIND], record[TICKET], record[STORED] = WAITER, lock[LAST_TICKET], nil
    if upgrades then
        lock[UPGRADE] = record[HANDLE]
    else
        lock[READERS + record[WRITES]] = lock[READERS + record[WRITES]] + 1
    end
    lock[CHANGED] = true
end,

-- Also for a missed waiter.
remove = function(waiter)
    if waiter[KIND] == MISSED then
        lock[MISSES] = lock[MISSES] - 1
    elseif lock[UPGRADE] == waiter[HANDLE] then
        lock[UPGRADE] = ''
    else
        lock[READERS + waiter[WRITES]] = lock[READERS + waiter[WRITES]] - 1
    end
    waiter[KIND], waiter[STORED], lock[CHANGED] = GONE, nil, true
end,

-- Adds a line to the message for the client of a handle.
tell = function(handle, line)
    local client, messages = string.sub(handle, 1, 32), lock[MESSAGES]
    if not messages then
        lock[MESSAGES] = { client, line }
        return
    end
    local at = 1
    while messages[at] and messages[at] ~= client do at = at + 2 end
    line = messages[at] and messages[at + 1] .. '\n' .. line or line
    messages[at], messages[at + 1] = client, line
end,

grant = function(waiter)
    local handle, mode, req = waiter[HANDLE], waiter[WRITES], waiter[LAST_REQ]
    local hold = lk.pair(handle)
    queue.remove(waiter)
    if hold then
        grant.more(hold, mode, req, 0) -- SPEC 4.3
    else
        hold, lock[HANDED_OVER] = waiter, true -- SPEC 5.3
        hold[DUE] = now + math.min(CLAIM, waiter[LEASE])
        grant.new(hold, UNCLAIMED, mode, req, 0, false)
    end
    hold[GRANTED_FOR] = req
    local fence, flags = hold[FENCE], (lock[MARK] > 0 and 1 or 0) + 2 * lock[POLICY] -- SPEC 10.3
    queue.tell(handle, 'granted ' .. handle .. string.format(' %.0f ', req)
        .. (fence == now and now_text or string.format('%.0f', fence)) .. ' ' .. now_text
        .. string.format(' %d %d', math.floor((hold[DUE] - now) / 1000), flags))
end,

-- SPEC 3.7. Returns the first waiter that is left.
settle = function()
    local phase, first
    repeat
        first = queue.first()
        while first and grant.is_compatible(first, first[WRITES]) do
            if first[WRITES] == WRITE then lock[PHASE] = WRITE end
            queue.grant(first)
            first = queue.first()
        end
        -- A new phase is a new order, and its first waiter may be compatible.
        phase = lock[PHASE]
        lk.phase_update()
    until lock[PHASE] == phase
    if lock[HOLDS] == 0 and lock[MISSES] == 0 then lk.life_end() end
    return first
end,

-- SPEC 5.5. `told` is the waiter whose place is in the answer, or nil.
watch = function(first, told)
    if first and first ~= told and (lock[HANDED_OVER] or first ~= lock[FIRST]) then
        queue.tell(first[HANDLE], 'watch ' .. first[HANDLE] .. string.format(' %.0f 0 ', first[LAST_REQ]) .. now_text
            .. string.format(' %d 0', math.ceil((lk.earliest() - now) / 1000)))
    end
end,
}
