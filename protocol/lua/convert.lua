-- convert: the downgrade. SPEC 4.7, 10.6.
-- KEYS  the four keys of the lock (SPEC 11.1)
-- ARGV  handle req fence
-- Reply granted time fence ms flags · not-held time · stale time
--@include prelude.lua

local function decide(request, hold, waiter)
    local seen = lk.seen(request, hold, waiter, 'c')
    if seen == 'again' then return lk.granted(hold) end
    if seen then return { 'stale', lk.now } end
    if not lk.means(hold, request.fence) or hold.writes == 0 then return { 'not-held', lk.now } end
    if hold.reads == 65535 then return lk.too_deep() end
    hold.last, hold.op = request.req, 'c'
    lk.hold_count(hold, 1, -1)
    lk.wrote(hold)
    return lk.granted(hold)
end

return lk.run({ 'handle', 'req', 'fence' }, decide)
