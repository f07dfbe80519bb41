-- Granting: what may hold together (SPEC 2), fences (8), dropping what has run out (5.2), settling (3.7), the messages (10.10), and the end
-- of every operation.

lk.CLAIM = 1000000


function lk.tell(handle, line)
    local client = string.sub(handle, 1, 32)
    local lines = lk.told[client]
    if not lines then
        lines = {}
        lk.told[client] = lines
        lk.clients[#lk.clients + 1] = client
    end
    lines[#lines + 1] = line
end

function lk.flags()
    local lock = lk.lock
    return (lock.mark and 1 or 0) + 2 * lk.POLICY[lock.policy]
end

function lk.left_ms(hold)
    return math.floor((lk.hold_due(hold) - lk.now) / 1000)
end

function lk.granted(hold)
    return { 'granted', lk.now, hold.fence, lk.left_ms(hold), lk.flags() }
end

function lk.compatible(mode, owner, group)
    local lock = lk.lock
    if lock.owners == 0 or (lock.owners == 1 and lk.owner_count(owner) > 0) then return true end -- SPEC 2.1
    return mode == 'read' and lock.write_holds == 0 and lock.read_holds == lk.group_count(group) -- SPEC 2.2
end

-- SPEC 8.2, 8.1: the fence of a hold that is about to get a read or a write.
function lk.give_fence(hold, mode, begins, floor)
    local lock = lk.lock
    local draws
    if mode == 'write' then
        draws = hold.writes == 0
    else
        draws = hold.new and (begins or (lock.group and lock.group ~= hold.group)
            or (lock.mark and lock.fence <= lock.mark))
    end
    if draws then lock.fence = math.max(lock.fence + 1, lk.now, lock.floor + 1, floor + 1) end
    if draws or hold.new then hold.fence = lock.fence end
    if hold.new then hold.first = hold.fence end
end

function lk.hold_new(handle, owner, group, who)
    local hold = {
        handle = handle, owner = owner, group = group, who = who, reads = 0, writes = 0, last = 0, op = 'a', granted_for = 0,
        provisional = 0, since = lk.now, new = true,
    }
    lk.holds[handle] = hold
    return hold
end

function lk.hold_add(hold, mode)
    lk.hold_count(hold, mode == 'read' and 1 or 0, mode == 'write' and 1 or 0)
end

function lk.update_phase()
    local lock = lk.lock
    if lock.write_holds > 0 then
        lock.phase = 'write'
    elseif lock.owners > 0 then
        lock.phase = 'read'
    end
end

function lk.grant(waiter)
    lk.waiter_remove(waiter)
    local hold = lk.hold_of(waiter.handle)
    if not hold then
        hold = lk.hold_new(waiter.handle, waiter.owner, waiter.group, waiter.who)
        hold.provisional, lk.provisional = 1, true
        lk.hold_extend(hold, lk.now + math.min(lk.CLAIM, waiter.lease)) -- SPEC 5.3
    end
    lk.give_fence(hold, waiter.mode, false, 0)
    hold.new = nil
    lk.hold_add(hold, waiter.mode)
    hold.granted_for = waiter.req
    if waiter.req > hold.last then
        hold.last, hold.op = waiter.req, 'a'
    end
    lk.tell(waiter.handle, string.format('granted %s %.0f %.0f %.0f %.0f %d', waiter.handle, waiter.req, hold.fence, lk.now,
        lk.left_ms(hold), lk.flags()))
end

-- SPEC 3.7.
function lk.settle()
    local lock = lk.lock
    local phase = lock.phase
    while true do
        local handle = lk.first_in_order(phase)
        if not handle then break end
        local waiter = lk.waiter_of(handle)
        if not lk.compatible(waiter.mode, waiter.owner, waiter.group) then break end
        lk.grant(waiter)
        if waiter.mode == 'write' then phase = 'write' end
    end
    lk.update_phase()
    lk.end_life()
end

-- SPEC 6.1.
function lk.set_mark(at)
    local lock = lk.lock
    lock.mark = lock.fence
    lock.mark_until = math.max(lock.mark_until or 0, at + lk.HOUR)
end

-- SPEC 6.3: for a hold that has just given its last write.
function lk.clear_mark(hold)
    local lock = lk.lock
    if lock.mark and hold.fence > lock.mark then
        lock.mark, lock.mark_until = nil, nil
    end
end

-- SPEC 4.6, when holds went without being released.
function lk.drop_upgrade()
    local lock = lk.lock
    if lock.up then
        local waiter = lk.waiter_of(lock.up)
        if lk.owner_count(waiter.owner) == 0 then lk.waiter_remove(waiter) end
    end
end

-- SPEC 4.5, when a hold was released.
function lk.release_upgrade()
    local lock = lk.lock
    if lock.up then
        local waiter = lk.waiter_of(lock.up)
        if lk.owner_count(waiter.owner) == 0 then
            lock.up = nil
            lk.waiter_enqueue(waiter)
        end
    end
end

function lk.drop_hold(hold, at)
    local lock = lk.lock
    if hold.writes > 0 then lk.set_mark(at) end
    lk.hold_remove(hold)
    if lock.up == hold.handle then lk.waiter_remove(lk.waiter_of(hold.handle)) end
end

-- SPEC 5.2, and what 5.5 must know from before.
function lk.begin()
    local lock = lk.lock
    lk.told, lk.clients, lk.provisional = {}, {}, false
    if lock.shape == 'sole' then
        lk.first_before = nil
        if lock.sole.due <= lk.now then
            lk.drop_hold(lock.sole, lock.sole.due)
            lk.end_life()
        end
    elseif lock.shape == 'full' then
        lk.first_before = lk.first_in_order(lock.phase)
        if #lock.run_out == 0 then return end
        for _, member in ipairs(lock.run_out) do
            local handle = string.sub(member, 3)
            if string.sub(member, 1, 1) == 'h' then
                local hold = lk.hold_of(handle)
                lk.drop_hold(hold, lk.hold_due(hold))
            elseif lk.waiter_of(handle) then
                lk.waiter_remove(lk.waiter_of(handle))
            end
        end
        lk.drop_upgrade()
        lk.settle()
    end
end

-- SPEC 5.5, 10.10 and the writing back. `told_place`: the handle whose waiter the answer tells its place.
function lk.finish(told_place)
    local lock = lk.lock
    if not lk.changed then return end
    local first = lock.shape == 'full' and lk.first_in_order(lock.phase)
    if first and first ~= told_place and (lk.provisional or first ~= lk.first_before) then
        lk.tell(first, string.format('watch %s %.0f 0 %.0f %.0f 0', first, lk.waiter_of(first).req, lk.now, lk.earliest_ms()))
    end
    if lk.nobody() then lk.clear() else lk.store() end
    for _, client in ipairs(lk.clients) do
        redis.pcall('PUBLISH', lk.prefix .. ':' .. client, table.concat(lk.told[client], '\n'))
    end
end
