-- renew: holds and waiters of many locks. SPEC 10.5.
-- KEYS  for each entry the four of its lock (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms
-- Reply renewed time entry…, an entry being an array: lease ms · queued place ms ·
--       granted fence ms flags · not-held · error text
--@include prelude.lua

local OF_HOLD = { 'handle', 'fence', 'any_req', 'lease_ms' }
local OF_WAITER = { 'handle', 'fence', 'req', 'lease_ms' }

local function extend(hold, lease)
    if hold.provisional == 1 then hold.provisional, hold.dirty = 0, true end
    lk.hold_extend(hold, lk.now + lease)
    lk.finish()
end

local function renew_hold(handle, fence, lease)
    local hold = lk.hold_of(handle)
    if not hold or fence < hold.first or fence > hold.fence then
        lk.finish()
        return { 'not-held' }
    end
    extend(hold, lease)
    return { 'lease', lk.left_ms(hold) }
end

local function renew_waiter(handle, req, lease)
    local hold, waiter = lk.hold_of(handle), lk.waiter_of(handle)
    if waiter and waiter.req == req then
        lk.waiter_extend(waiter, lease)
        lk.finish(handle)
        return { 'queued', lk.place_of(waiter), lk.earliest_ms() }
    end
    if hold and hold.granted_for == req then
        extend(hold, lease)
        return { 'granted', hold.fence, lk.left_ms(hold), lk.flags() }
    end
    lk.finish()
    return { 'not-held' }
end

local function renew(at)
    lk.fault = nil
    lk.check_lock_keys(at)
    local is_waiter = tonumber(ARGV[at + 1]) == 0
    local entry = lk.read_arguments(is_waiter and OF_WAITER or OF_HOLD, at)
    if lk.fault then return { 'error', lk.fault } end
    local handle, lease = entry.handle, entry.lease_ms * 1000
    local wrong = lk.open(at, handle, handle, '')
    if wrong then return { 'error', wrong } end
    -- A full server refuses ZADD, unless something that it allows was written before. SPEC 11.3.
    if lk.lock.shape == 'full' then redis.call('HDEL', lk.key, '') end
    lk.begin()
    if is_waiter then return renew_waiter(handle, entry.req, lease) end
    return renew_hold(handle, entry.fence, lease)
end

if #KEYS == 0 or #KEYS % 4 ~= 0 or #KEYS > 400 then
    return { err = 'LKARG keys: expected 4 for each of 1 to 100 entries, got ' .. #KEYS }
end
if #ARGV ~= #KEYS then
    return { err = 'LKARG arguments: expected ' .. #KEYS .. ', got ' .. #ARGV }
end
lk.now = lk.clock()
local reply = { 'renewed', lk.now }
for at = 1, #KEYS, 4 do reply[#reply + 1] = renew(at) end
return reply
