-- cancel: leaves the queue. SPEC 10.7.
-- KEYS  the four keys of the lock (SPEC 11.1)
-- ARGV  handle req target
-- Reply cancelled time · granted time fence ms flags
--@include prelude.lua

local function decide(request, hold, waiter)
    local target = request.target
    if waiter and waiter.req == target then
        lk.waiter_remove(waiter)
        if hold and request.req > hold.last then -- SPEC 9.1
            hold.last, hold.op, hold.dirty = request.req, 'x', true
        end
    elseif hold and (target == hold.granted_for or (target == hold.last and hold.op == 'a')) then
        return lk.granted(hold)
    end
    return { 'cancelled', lk.now }
end

return lk.run({ 'handle', 'req', 'target' }, decide)
