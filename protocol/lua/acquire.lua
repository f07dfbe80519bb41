-- acquire: take, or queue, or say busy. SPEC 10.2.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode wait lease_ms policy floor owner group who
-- Reply granted time fence ms flags · queued time place ms · busy time ms · deadlock time · not-held time · stale time
--@include lk.lua
--@include clock.lua

-- The uncontended way: good arguments, and nobody has the lock. What this does not answer goes the long way below, which says what is
-- wrong. It is here because making the functions of the long way costs more than all of this.
if #KEYS == 4 and #ARGV == 11 then
    local key, handle, owner, group, who = KEYS[1], ARGV[1], ARGV[9], ARGV[10], ARGV[11]
    local client, req, mode, lease, policy, floor = string.match(table.concat(ARGV, ' ', 1, 8),
        '^([0-9a-f]+)%-[0-9a-f]+ (%d+) 0 (%l+) [01] (%d+) ([%l-]+) (%d+)$')
    if client and #client == 32 and #handle == 45 and #req < 16 and tonumber(req) > 0
        and (mode == 'read' or mode == 'write') and #lease < 10 and tonumber(lease) >= 100 and tonumber(lease) <= 86400000
        and (policy == 'fair' or policy == 'phase-fair' or policy == 'prefer-writer' or policy == 'prefer-reader')
        and (#floor < 16 or (#floor == 16 and floor <= '9007199254740992'))
        and #owner <= 128 and #group <= 64 and #who <= 255 and not string.find(owner .. group .. who, '%z')
        and #key < 512 and string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$')
        and KEYS[2] == key .. ':d' and KEYS[3] == key .. ':r' and KEYS[4] == key .. ':w' then
        local now = lk.clock()
        lk.now, floor = now, tonumber(floor)
        if floor <= now + 86400000000 and redis.call('EXISTS', key) == 0 then
            local fence = math.max(now, floor + 1) -- SPEC 8.1
            local due = now + lease * 1000
            local token = string.format('%.0f', fence)
            local since = fence == now and token or string.format('%.0f', now)
            redis.call('HSET', key, 'fence', token, 'policy', policy, 'sole', handle, 'due', due, 'h:' .. handle,
                table.concat({ mode == 'read' and '1 0' or '0 1', token, token, req, 'a 0 0', since, #owner, #group,
                    owner .. group .. who }, ' '))
            redis.call('PEXPIREAT', key, math.ceil((mode == 'write' and due + 3600000000 or due) / 1000))
            local flags = policy == 'fair' and 0 or policy == 'phase-fair' and 2 or policy == 'prefer-writer' and 4 or 6
            return { 'granted', now, fence, tonumber(lease), flags }
        end
    end
end
--@include prelude.lua

lk.prefix = lk.check_keys()
if not lk.check_arguments(11) then return { err = lk.fault_text } end
local handle, mode, policy, owner, group, who = ARGV[1], ARGV[4], ARGV[7], ARGV[9], ARGV[10], ARGV[11]
lk.check_handle(handle)
local req = lk.to_request('req', ARGV[2])
local fence = lk.to_number('fence', ARGV[3])
lk.check_mode(mode)
local wait = lk.to_number('wait', ARGV[5])
if wait > 1 then lk.fault('LKARG wait: must be 0 or 1') end
local lease = lk.to_lease(ARGV[6])
if not lk.POLICY[policy] then lk.fault('LKARG policy: must be fair, phase-fair, prefer-writer or prefer-reader') end
local floor = lk.to_number('floor', ARGV[8])
lk.now = lk.now or lk.clock()
if floor > lk.now + 86400000000 then lk.fault("LKARG floor: is more than a day ahead of the server's clock") end
lk.check_text('owner', owner, 128)
lk.check_text('group', group, 64)
lk.check_text('who', who, 255)
if lk.fault_text then return { err = lk.fault_text } end
if owner == '' then owner = handle end

local wrong = lk.open(1, handle, owner, group)
if wrong then return { err = wrong } end
local lock = lk.lock
lk.begin()

local hold, waiter = lk.hold_of(handle), lk.waiter_of(handle)

-- A request seen before: SPEC 9.2, 9.4.
if waiter and req == waiter.req then
    lk.waiter_extend(waiter, lease)
    lk.finish(handle)
    return { 'queued', lk.now, lk.place_of(waiter), lk.earliest_ms() }
end
if hold and (req == hold.granted_for or (req == hold.last and hold.op == 'a')) then
    if hold.provisional == 1 then
        hold.provisional, hold.dirty = 0, true
    end
    lk.hold_extend(hold, lk.now + lease)
    lk.finish()
    return lk.granted(hold)
end
if (hold and req <= hold.last) or (waiter and req <= waiter.req) then
    lk.finish()
    return { 'stale', lk.now }
end

-- SPEC 9.5.
if fence ~= 0 then
    if not hold or fence < hold.first or fence > hold.fence then
        lk.finish()
        return { 'not-held', lk.now }
    end
    owner, group = hold.owner, hold.group
elseif hold or waiter then
    if waiter then lk.waiter_remove(waiter) end
    if hold then
        lk.drop_hold(hold, lk.now)
        lk.drop_upgrade()
    end
    lk.settle()
    hold = nil
end

if lk.compatible(mode, owner, group) and (mode == 'write' or lk.owner_count(owner) > 0 -- SPEC 3.3, 3.4
    or (not lock.up and lock.reader_waiters == 0 -- SPEC 3.2
        and (lock.writer_waiters == 0 or lock.policy == 'prefer-reader'))) then
    local begins = not lock.policy
    if not hold then
        if not begins then
            wrong = lk.spread()
            if wrong then return { err = wrong } end
        end
        hold = lk.hold_new(handle, owner, group, who)
        if lock.shape == 'bare' then
            lock.shape, lock.sole = 'sole', hold
        end
    elseif (mode == 'read' and hold.reads or hold.writes) == 65535 then
        lk.finish()
        return { err = 'LKDEPTH mode: held 65535 times already' }
    end
    if begins then lock.policy = policy end -- SPEC 3.1
    lk.hold_extend(hold, lk.now + lease)
    lk.give_fence(hold, mode, begins, floor)
    hold.new = nil
    lk.hold_add(hold, mode)
    hold.last, hold.op, hold.provisional = req, 'a', 0
    lk.update_phase()
    lk.finish()
    return lk.granted(hold)
end

local upgrades = mode == 'write' and lk.owner_count(owner) > 0 -- SPEC 4.1
if upgrades and lock.up then -- SPEC 4.4
    lk.finish()
    return { 'deadlock', lk.now }
end
if wait == 0 then
    lk.finish()
    return { 'busy', lk.now, lk.earliest_ms() }
end
wrong = lk.spread()
if wrong then return { err = wrong } end
waiter = {
    handle = handle, owner = owner, group = group, who = who, mode = mode, ticket = 0, lease = lease, req = req, since = lk.now,
    new = true, dirty = true,
}
lk.waiters[handle] = waiter
lk.waiter_extend(waiter, lease)
if upgrades then
    lock.up = handle
else
    lk.waiter_enqueue(waiter)
end
lock.floor = math.max(lock.floor, floor) -- SPEC 8.1
lk.finish(handle)
return { 'queued', lk.now, lk.place_of(waiter), lk.earliest_ms() }
