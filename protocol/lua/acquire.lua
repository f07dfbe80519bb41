-- acquire: take, or queue, or say busy. SPEC 10.2.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode wait lease_ms policy floor owner group who
-- Reply granted time fence ms flags · queued time place ms · busy time ms · deadlock time ·
--       not-held time · stale time
--@include lk.lua
--@include clock.lua

-- The uncontended way: good arguments, and nobody has the lock. What this does not answer goes
-- the long way below, which also says what is wrong. It stands here because making the functions
-- of the long way costs more than all of this.
local function take_free()
    if #KEYS ~= 4 or #ARGV ~= 11 then return end
    local key, handle, owner, group, who = KEYS[1], ARGV[1], ARGV[9], ARGV[10], ARGV[11]
    local client, req, mode, lease, policy, floor = string.match(table.concat(ARGV, ' ', 1, 8),
        '^([0-9a-f]+)%-[0-9a-f]+ (%d+) 0 (%l+) [01] (%d+) ([%l-]+) (%d+)$')
    local flags = policy == 'fair' and 0 or policy == 'phase-fair' and 2
        or policy == 'prefer-writer' and 4 or policy == 'prefer-reader' and 6
    if not flags or #client ~= 32 or #handle ~= 45 or #req > 15 or tonumber(req) < 1
        or (mode ~= 'read' and mode ~= 'write') or #lease > 9 or tonumber(lease) < 100
        or tonumber(lease) > 86400000 or #floor > 16
        or (#floor == 16 and floor > '9007199254740992') or #owner > 128 or #group > 64
        or #who > 255 or string.find(owner .. group .. who, '%z') or #key > 512
        or not string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$') or KEYS[2] ~= key .. ':d'
        or KEYS[3] ~= key .. ':r' or KEYS[4] ~= key .. ':w' then
        return
    end
    lk.now = lk.clock()
    if tonumber(floor) > lk.now + 86400000000 or redis.call('EXISTS', key) == 1 then return end
    local fence, due = math.max(lk.now, floor + 1), lk.now + lease * 1000
    local token = string.format('%.0f', fence)
    local since = fence == lk.now and token or string.format('%.0f', lk.now)
    redis.call('HSET', key, 'fence', token, 'policy', policy, 'sole', handle, 'due', due,
        'h:' .. handle, table.concat({ mode == 'read' and '1 0' or '0 1', token, token, req,
            'a 0 0', since, #owner, #group, owner .. group .. who }, ' '))
    redis.call('PEXPIREAT', key, math.ceil((mode == 'write' and due + 3600000000 or due) / 1000))
    return { 'granted', lk.now, fence, tonumber(lease), flags }
end

local taken = take_free()
if taken then return taken end
lk.now = lk.now or lk.clock()
--@include prelude.lua

local request = lk.read_request({ 'handle', 'req', 'fence', 'mode', 'wait', 'lease_ms', 'policy',
    'floor', 'owner', 'group', 'who' })
if not request then return { err = lk.fault } end
local handle, req, fence, mode = request.handle, request.req, request.fence, request.mode
local owner, group, lease = request.owner, request.group, request.lease_ms * 1000
if owner == '' then owner = handle end

local wrong = lk.open(1, handle, owner, group)
if wrong then return { err = wrong } end
lk.begin()

local lock, hold, waiter = lk.lock, lk.hold_of(handle), lk.waiter_of(handle)
local last = math.max(hold and hold.last or 0, waiter and waiter.req or 0) -- SPEC 9.1

-- A request seen before: SPEC 9.2, 9.4.
if waiter and req == waiter.req then
    lk.waiter_extend(waiter, lease)
    lk.finish(handle)
    return { 'queued', lk.now, lk.place_of(waiter), lk.earliest_ms() }
end
if hold and (req == hold.granted_for or (req == last and req == hold.last and hold.op == 'a')) then
    if hold.provisional == 1 then hold.provisional, hold.dirty = 0, true end
    lk.hold_extend(hold, lk.now + lease)
    lk.finish()
    return lk.granted(hold)
end
if req <= last then
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

local holds = lk.count('o:' .. owner) > 0
local nobody_before = not lock.up and lock.reader_waiters == 0
    and (lock.writer_waiters == 0 or lock.policy == 'prefer-reader')
if lk.compatible(mode, owner, group) -- SPEC 3.2, 3.3, 3.4
    and (mode == 'write' or holds or nobody_before) then
    local begins_life = not lock.policy
    if hold and (mode == 'read' and hold.reads or hold.writes) == 65535 then
        lk.finish()
        return { err = 'LKDEPTH mode: held 65535 times already' }
    end
    if begins_life then
        lock.policy = request.policy -- SPEC 3.1
    elseif not hold then
        wrong = lk.spread()
        if wrong then return { err = wrong } end
    end
    if not hold then
        hold = lk.hold_new(handle, owner, group, request.who)
        if lock.shape == 'bare' then lock.shape, lock.sole = 'sole', hold end
    end
    lk.hold_extend(hold, lk.now + lease)
    lk.hold_add(hold, mode, begins_life, request.floor)
    hold.last, hold.op, hold.provisional = req, 'a', 0
    lk.update_phase()
    lk.finish()
    return lk.granted(hold)
end

local upgrades = mode == 'write' and holds -- SPEC 4.1
if upgrades and lock.up then -- SPEC 4.4
    lk.finish()
    return { 'deadlock', lk.now }
end
if request.wait == 0 then
    lk.finish()
    return { 'busy', lk.now, lk.earliest_ms() }
end
wrong = lk.spread()
if wrong then return { err = wrong } end
waiter = {
    handle = handle, owner = owner, group = group, who = request.who, mode = mode, ticket = 0,
    lease = lease, req = req, since = lk.now, new = true, dirty = true,
}
lk.waiters[handle] = waiter
lk.waiter_extend(waiter, lease)
if upgrades then
    lock.up = handle
else
    lk.waiter_enqueue(waiter)
end
lock.floor = math.max(lock.floor, request.floor) -- SPEC 8.1
lk.finish(handle)
return { 'queued', lk.now, lk.place_of(waiter), lk.earliest_ms() }
