-- renew: holds and waiters of many locks. SPEC 10.5.
-- KEYS  for each entry the four of its lock (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms
-- Reply renewed time entry…, an entry being an array: lease ms · queued place ms ·
--       granted fence ms flags · not-held · error text
--@include prelude.lua

local OF_HOLD = { 'handle', 'fence', 'any_req', 'lease_ms' }
local OF_WAITER = { 'handle', 'fence', 'req', 'lease_ms' }

local function renew_hold(hold, entry)
    if not lk.means(hold, entry.fence) then return { 'not-held' } end
    lk.hold_claim(hold, entry.lease)
    return { 'lease', lk.left_ms(hold) }
end

-- Returns the handle too, if the answer tells its place.
local function renew_waiter(hold, waiter, entry)
    if waiter and waiter.req == entry.req then
        lk.waiter_extend(waiter, entry.lease)
        return { 'queued', lk.place_of(waiter), lk.earliest_ms() }, waiter.handle
    end
    if not hold or hold.granted_for ~= entry.req then return { 'not-held' } end
    lk.hold_claim(hold, entry.lease)
    return { 'granted', hold.fence, lk.left_ms(hold), lk.flags() }
end

local function renew(at)
    lk.fault = nil
    lk.check_lock_keys(at)
    local entry = lk.read_arguments(tonumber(ARGV[at + 1]) == 0 and OF_WAITER or OF_HOLD, at)
    local wrong = lk.fault or lk.open(at, entry.handle, entry.handle, '')
    if wrong then return { 'error', wrong } end
    -- A full server refuses ZADD, unless something that it allows was written before. SPEC 11.3.
    if lk.lock.shape == 'full' then redis.call('HDEL', lk.key, '') end
    lk.begin()
    local hold, waiter = lk.hold_of(entry.handle), lk.waiter_of(entry.handle)
    local reply, told
    if entry.fence == 0 then
        reply, told = renew_waiter(hold, waiter, entry)
    else
        reply = renew_hold(hold, entry)
    end
    lk.finish(told)
    return reply
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
