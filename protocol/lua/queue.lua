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
    return lock[reader + TICKET] < lock[writer + TICKET] and reader or writer
end,

place = function(waiter)
    if lock[UPGRADE] == lock[waiter + HANDLE] then return 1 end
    local mode, ticket = lock[waiter + MODE], lock[waiter + TICKET]
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
    lock[record + KIND], lock[record + TICKET] = WAITER, lock[LAST_TICKET]
    if upgrades then
        lock[UPGRADE] = lock[record + HANDLE]
    else
        lock[READERS + lock[record + MODE]] = lock[READERS + lock[record + MODE]] + 1
    end
    lk.changed = true
    if lock[INDEXED] == 1 then lk.touch(record) end
end,

-- Also for a missed waiter.
remove = function(waiter)
    if lock[waiter + KIND] == MISSED then
        lock[MISSES] = lock[MISSES] - 1
    elseif lock[UPGRADE] == lock[waiter + HANDLE] then
        lock[UPGRADE] = ''
    else
        lock[READERS + lock[waiter + MODE]] = lock[READERS + lock[waiter + MODE]] - 1
    end
    lock[waiter + KIND], lk.changed = GONE, true
    if lock[INDEXED] == 1 then lk.touch(waiter) end
end,

-- Adds a line to the message for the client of a handle.
tell = function(handle, line)
    local client = string.sub(handle, 1, 32)
    if not lk.lines then lk.lines, lk.clients = {}, {} end
    if lk.lines[client] then
        lk.lines[client] = lk.lines[client] .. '\n' .. line
    else
        lk.lines[client], lk.clients[#lk.clients + 1] = line, client
    end
end,

grant = function(waiter)
    local hold, mode, req = lk.pair(lock[waiter + HANDLE]), lock[waiter + MODE], lock[waiter + LAST_REQ]
    queue.remove(waiter)
    if hold then
        grant.more(hold, mode, req, 0) -- SPEC 4.3
    else
        hold = waiter
        lock[hold + PROVISIONAL], lk.granted_provisionally = 1, true -- SPEC 5.3
        lock[hold + DUE] = now + math.min(CLAIM, lock[waiter + LEASE])
        grant.new(hold, mode, req, 0, false)
    end
    lock[hold + GRANTED_FOR] = req
    local flags = (lock[MARK] > 0 and 1 or 0) + 2 * lock[POLICY] -- SPEC 10.3
    local fence = lock[hold + FENCE]
    queue.tell(lock[hold + HANDLE], string.format('granted %s %.0f %s %s %d %d', lock[hold + HANDLE], req,
        fence == now and now_text or string.format('%.0f', fence), now_text,
        math.floor((lock[hold + DUE] - now) / 1000), flags))
end,

-- SPEC 3.7.
settle = function()
    local phase
    repeat
        local first = queue.first()
        while first and grant.is_compatible(first, lock[first + MODE]) do
            if lock[first + MODE] == WRITE then lock[PHASE] = WRITE end
            queue.grant(first)
            first = queue.first()
        end
        -- A new phase is a new order, and its first waiter may be compatible.
        phase = lock[PHASE]
        lk.phase_update()
    until lock[PHASE] == phase
    if lock[HOLDS] == 0 and lock[MISSES] == 0 then lk.life_end() end
end,

-- SPEC 5.5. `told` is the waiter whose place is in the answer, or nil.
watch = function(told)
    local first = queue.first()
    if first and first ~= told and (lk.granted_provisionally or lock[first + HANDLE] ~= lk.first_handle
        or lock[first + LAST_REQ] ~= lk.first_req) then
        queue.tell(lock[first + HANDLE], string.format('watch %s %.0f 0 %s %d 0', lock[first + HANDLE],
            lock[first + LAST_REQ], now_text, math.ceil((lk.earliest() - now) / 1000)))
    end
end,
}
