-- Granting: which requests may hold together (SPEC 2), which fence a hold gets (8), and settling (3.7),
-- which notifies clients of their grants.

-- Collects the lines for each client. lk.told also lists the clients in the order of their first line.
function lk.tell(handle, line)
    local client = string.sub(handle, 1, 32)
    local lines = lk.told[client]
    if not lines then
        lines = {}
        lk.told[client] = lines
        lk.told[#lk.told + 1] = client
    end
    lines[#lines + 1] = line
end

-- SPEC 10.3.
function lk.flags()
    return (lk.lock.mark and 1 or 0) + 2 * lk.POLICIES[lk.lock.policy]
end

function lk.left_ms(hold)
    return math.floor((lk.hold_due(hold) - lk.now) / 1000)
end

function lk.granted(hold)
    return { 'granted', lk.now, hold.fence, lk.left_ms(hold), lk.flags() }
end

-- Also returns the handle: see lk.run.
function lk.queued(waiter)
    return { 'queued', lk.now, lk.place_of(waiter), lk.earliest_ms() }, waiter.handle
end

-- SPEC 2.1, 2.2. If two owners hold, all read holds are of one group. So the counts are enough.
function lk.compatible(mode, owner, group)
    local lock = lk.lock
    if lock.owners == 0 or (lock.owners == 1 and lk.count('o:' .. owner) > 0) then return true end
    return mode == 'read' and lock.write_holds == 0 and lock.read_holds == lk.count('g:' .. group)
end

function lk.hold_new(handle, owner, group, who)
    local hold = {
        handle = handle, owner = owner, group = group, who = who, reads = 0, writes = 0, last = 0,
        op = 'a', granted_for = 0, provisional = 0, since = lk.now, new = true,
    }
    lk.holds[handle] = hold
    return hold
end

-- Adds a read or a write to a hold, and draws a fence if the rules want one: SPEC 8.2, 8.1.
function lk.hold_add(hold, mode, begins_life, floor)
    local lock = lk.lock
    local draws
    if mode == 'write' then
        draws = hold.writes == 0
    else
        draws = hold.new and (begins_life or (lock.group and lock.group ~= hold.group)
            or (lock.mark and lock.fence <= lock.mark))
    end
    if draws then lock.fence = math.max(lock.fence + 1, lk.now, lock.floor + 1, floor + 1) end
    if draws or hold.new then hold.fence = lock.fence end
    if hold.new then hold.first, hold.new = hold.fence, nil end
    lk.hold_count(hold, mode == 'read' and 1 or 0, mode == 'write' and 1 or 0)
end

function lk.grant(waiter)
    local hold = lk.lock.up == waiter.handle and lk.hold_of(waiter.handle) -- SPEC 12.9
    lk.waiter_remove(waiter)
    if not hold then
        hold = lk.hold_new(waiter.handle, waiter.owner, waiter.group, waiter.who)
        hold.provisional, lk.provisional = 1, true
        lk.hold_extend(hold, lk.now + math.min(1000000, waiter.lease)) -- SPEC 5.3
    end
    lk.hold_add(hold, waiter.mode, false, 0)
    hold.granted_for = waiter.req
    if waiter.req > hold.last then hold.last, hold.op = waiter.req, 'a' end
    lk.tell(waiter.handle, string.format('granted %s %.0f %.0f %.0f %.0f %d', waiter.handle,
        waiter.req, hold.fence, lk.now, lk.left_ms(hold), lk.flags()))
end

-- SPEC 3.6.
function lk.update_phase()
    local lock = lk.lock
    if lock.write_holds > 0 then
        lock.phase = 'write'
    elseif lock.owners > 0 then
        lock.phase = 'read'
    end
end

-- SPEC 3.7. If nobody is left, ends the life of the lock: 1.7, 7.2.
function lk.settle()
    local lock = lk.lock
    local phase
    repeat
        local handle = lk.first_in_order()
        while handle do
            local waiter = lk.waiter_of(handle)
            if not lk.compatible(waiter.mode, waiter.owner, waiter.group) then break end
            lk.grant(waiter)
            if waiter.mode == 'write' then lock.phase = 'write' end
            handle = lk.first_in_order()
        end
        phase = lock.phase
        lk.update_phase()
    until lock.phase == phase
    lk.unsettled = false
    if lk.nobody() then
        lock.policy, lock.phase, lock.group, lock.floor, lock.ticket = nil, nil, nil, 0, 0
        if not lock.mark then lock.fence = 0 end
    end
end
