-- convert: the downgrade. SPEC 4.7, 10.6.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence
-- Reply granted time fence ms flags · not-held time · stale time
--@include prelude.lua

local request = lk.read_request({ 'handle', 'req', 'fence' })
if not request then return { err = lk.fault } end
local handle, req, fence = request.handle, request.req, request.fence

lk.now = lk.clock()
local wrong = lk.open(1, handle, handle, '')
if wrong then return { err = wrong } end
lk.begin()

local hold, waiter = lk.hold_of(handle), lk.waiter_of(handle)
local last = math.max(hold and hold.last or 0, waiter and waiter.req or 0) -- SPEC 9.1
if hold and req == last and req == hold.last and hold.op == 'c' then -- SPEC 9.3
    lk.finish()
    return lk.granted(hold)
end
if req <= last then
    lk.finish()
    return { 'stale', lk.now }
end
if not hold or fence < hold.first or fence > hold.fence or hold.writes == 0 then
    lk.finish()
    return { 'not-held', lk.now }
end
if hold.reads == 65535 then
    lk.finish()
    return { err = 'LKDEPTH mode: held 65535 times already' }
end

hold.last, hold.op = req, 'c'
lk.hold_count(hold, 1, -1)
lk.wrote(hold)
lk.finish()
return lk.granted(hold)
