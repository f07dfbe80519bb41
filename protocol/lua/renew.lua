-- renew: holds and waiters of many locks. SPEC 10.5.
-- KEYS  for each entry the four of its lock (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms
-- Reply renewed time entry…, an entry being an array: lease ms · queued place ms · granted fence ms flags · not-held · error text
--@include prelude.lua

local function renew_hold(handle, fence, lease)
    local hold = lk.hold_of(handle)
    if not hold or fence < hold.first or fence > hold.fence then
        lk.finish()
        return { 'not-held' }
    end
    if hold.provisional == 1 then
        hold.provisional, hold.dirty = 0, true
    end
    lk.hold_extend(hold, lk.now + lease)
    lk.finish()
    return { 'lease', lk.left_ms(hold) }
end

local function renew_waiter(handle, req, lease)
    local waiter = lk.waiter_of(handle)
    if waiter and waiter.req == req then
        lk.waiter_extend(waiter, lease)
        lk.finish(handle)
        return { 'queued', lk.place_of(waiter), lk.earliest_ms() }
    end
    local hold = lk.hold_of(handle)
    if not hold or hold.granted_for ~= req then
        lk.finish()
        return { 'not-held' }
    end
    renew_hold(handle, hold.fence, lease)
    return { 'granted', hold.fence, lk.left_ms(hold), lk.flags() }
end

local function renew(entry)
    lk.fault_text = nil
    lk.prefix = lk.check_lock_keys(entry * 4 - 3)
    local at = entry * 4 - 3
    local handle = ARGV[at]
    lk.check_handle(handle)
    local fence = lk.to_number('fence', ARGV[at + 1])
    local req = fence == 0 and lk.to_request('req', ARGV[at + 2]) or lk.to_number('req', ARGV[at + 2])
    local lease = lk.to_lease(ARGV[at + 3])
    if lk.fault_text then return { 'error', lk.fault_text } end
    local wrong = lk.open(at, handle, handle, '')
    if wrong then return { 'error', wrong } end
    -- A full server refuses ZADD, unless something that it allows was written before. SPEC 11.3.
    if lk.lock.shape == 'full' then redis.call('HDEL', lk.key, '') end
    lk.begin()
    if fence ~= 0 then return renew_hold(handle, fence, lease) end
    return renew_waiter(handle, req, lease)
end

local entries = #KEYS / 4
if entries < 1 or entries > 100 or entries ~= math.floor(entries) then
    return { err = 'LKARG keys: expected 4 for each of 1 to 100 entries, got ' .. #KEYS }
end
if not lk.check_arguments(#KEYS) then return { err = lk.fault_text } end

lk.now = lk.clock()
local reply = { 'renewed', lk.now }
for entry = 1, entries do reply[entry + 2] = renew(entry) end
return reply
