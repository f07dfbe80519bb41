-- convert: the downgrade. SPEC 4.7, 10.6.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence
-- Reply granted time fence ms flags · not-held time · stale time
--@include prelude.lua

lk.prefix = lk.check_keys()
if not lk.check_arguments(3) then return { err = lk.fault_text } end
local handle = ARGV[1]
lk.check_handle(handle)
local req = lk.to_request('req', ARGV[2])
local fence = lk.to_number('fence', ARGV[3])
if lk.fault_text then return { err = lk.fault_text } end

lk.now = lk.clock()
local wrong = lk.open(1, handle, handle, '')
if wrong then return { err = wrong } end
lk.begin()

local hold, waiter = lk.hold_of(handle), lk.waiter_of(handle)
if hold and req == hold.last and hold.op == 'c' then -- SPEC 9.3
    lk.finish()
    return lk.granted(hold)
end
if (hold and req <= hold.last) or (waiter and req <= waiter.req) then
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
if hold.writes == 0 then lk.clear_mark(hold) end
lk.settle()
lk.finish()
return lk.granted(hold)
