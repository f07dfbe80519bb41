-- cancel: leave the queue. SPEC 10.7.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req target
-- Reply cancelled time · granted time fence ms flags
--@include prelude.lua

local request = lk.read_request({ 'handle', 'req', 'target' })
if not request then return { err = lk.fault } end
local handle, req, target = request.handle, request.req, request.target

lk.now = lk.clock()
local wrong = lk.open(1, handle, handle, '')
if wrong then return { err = wrong } end
lk.begin()

local hold, waiter = lk.hold_of(handle), lk.waiter_of(handle)
if waiter and waiter.req == target then
    lk.waiter_remove(waiter)
    if hold and req > hold.last then hold.last, hold.op, hold.dirty = req, 'x', true end
    lk.finish()
    return { 'cancelled', lk.now }
end
lk.finish()
if hold and (target == hold.granted_for or (target == hold.last and hold.op == 'a')) then
    return lk.granted(hold)
end
return { 'cancelled', lk.now }
