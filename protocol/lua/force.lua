-- force: drops the holds of one owner, or of everyone. SPEC 10.9.
-- KEYS  the four keys of the lock (SPEC 11.1)
-- ARGV  owner (empty: everyone)
-- Reply forced time count
--@include prelude.lua

local function all_holds()
    if lk.lock.shape == 'sole' then return { lk.lock.sole } end
    local holds = {}
    if lk.lock.shape == 'full' then
        for _, member in ipairs(redis.call('ZRANGEBYSCORE', lk.due_key, 0, '+inf')) do
            holds[#holds + 1] = lk.hold_of(string.sub(member, 3))
        end
    end
    return holds
end

local function decide(request)
    local count = 0
    for _, hold in ipairs(all_holds()) do
        if request.owner == '' or hold.owner == request.owner then
            count = count + 1
            lk.tell(hold.handle,
                string.format('lost %s 0 %.0f %.0f 0 0', hold.handle, hold.fence, lk.now))
            lk.drop_hold(hold, lk.now)
        end
    end
    lk.drop_upgrade()
    return { 'forced', lk.now, count }
end

return lk.run({ 'owner' }, decide)
