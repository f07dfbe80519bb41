-- renew: holds and waiters of many locks. SPEC 10.5.
-- KEYS  for each entry the four of its lock (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms
-- Reply renewed time entry…, an entry being an array: lease ms · queued place ms ·
--       granted fence ms flags · not-held · error text
--@include lk.lua
--@include clock.lua
--@include full.lua

-- The short ways: good arguments, a hold, and nothing of its lock has run out. What they do not
-- answer goes the long way, whose functions cost more than all of this, and are made when they are
-- first needed.

-- Key, handle and record of the hold that an entry names, and the lease in µs.
local function read_hold(at)
    local key, handle = KEYS[at], ARGV[at]
    local client, fence, req, lease = string.match(table.concat(ARGV, ' ', at, at + 3),
        '^([0-9a-f]+)%-[0-9a-f]+ (%d+) (%d+) (%d+)$')
    if not client or #client ~= 32 or #handle ~= 45 or #fence > 16 or fence == '0'
        or (#fence == 16 and fence > '9007199254740992') or #req > 15 or #lease > 9
        or tonumber(lease) < 100 or tonumber(lease) > 86400000 or #key > 512
        or not string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$') or KEYS[at + 1] ~= key .. ':d'
        or KEYS[at + 2] ~= key .. ':r' or KEYS[at + 3] ~= key .. ':w' then
        return
    end
    local v = redis.pcall('HMGET', key, 'h:' .. handle, 'mark', 'sole', 'due', 'write_holds',
        'reader_waiters', 'writer_waiters', 'up')
    if not v[1] or v[2] then return end
    local counts, present, first = string.match(v[1], '^(%d+ %d+) (%d+) (%d+) ')
    fence = tonumber(fence)
    if fence < tonumber(first) or fence > tonumber(present) then return end
    return key, handle, v, counts, lease * 1000
end

local function expiry(due, writes)
    return string.format('%.0f', math.ceil((writes and due + 3600000000 or due) / 1000))
end

-- Nobody else is there.
local function renew_sole(key, handle, v, counts, lease)
    local due = tonumber(v[4])
    if v[3] ~= handle or due <= lk.now then return end
    if lk.now + lease > due then
        due = lk.now + lease
        lk.insist(key)
        redis.call('HSET', key, 'due', string.format('%.0f', due))
        redis.call('PEXPIREAT', key, expiry(due, not string.find(counts, ' 0$')))
    end
    return { 'lease', math.floor((due - lk.now) / 1000) }
end

-- Others hold or wait beside it. SPEC 5.1, 5.3.
local function renew_among_others(at, key, handle, v, lease)
    local due_key, now = KEYS[at + 1], string.format('%.0f', lk.now)
    if v[3] then return end
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now, now, 'LIMIT', '0', '1')
    if run_out.err or run_out[1] then return end
    local member = 'h:' .. handle
    lk.insist(key)
    redis.call('ZADD', due_key, 'GT', string.format('%.0f', lk.now + lease), member)
    local due = tonumber(redis.call('ZSCORE', due_key, member))
    local before, after = string.match(v[1], '^(%d+ %d+ %d+ %d+ %d+ %a %d+ )1( .*)$')
    if before then redis.call('HSET', key, member, before .. '0' .. after) end
    local latest = tonumber(redis.call('ZRANGE', due_key, '-1', '-1', 'WITHSCORES')[2])
    if v[6] or v[7] or v[8] then
        latest = math.max(latest, -redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')[2])
    end
    local expires = expiry(latest, v[5])
    redis.call('PEXPIREAT', key, expires)
    redis.call('PEXPIREAT', due_key, expires)
    if v[6] then redis.call('PEXPIREAT', KEYS[at + 2], expires) end
    if v[7] then redis.call('PEXPIREAT', KEYS[at + 3], expires) end
    return { 'lease', math.floor((due - lk.now) / 1000) }
end

local function renew_shortly(at)
    local key, handle, v, counts, lease = read_hold(at)
    if not key then return end
    return renew_sole(key, handle, v, counts, lease)
        or renew_among_others(at, key, handle, v, lease)
end

local long_way

local function make_long_way()
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

    long_way = function(at)
        lk.fault = nil
        lk.check_lock_keys(at)
        local entry = lk.read_arguments(tonumber(ARGV[at + 1]) == 0 and OF_WAITER or OF_HOLD, at)
        local wrong = lk.fault or lk.open(at, entry.handle, entry.handle, '')
        if wrong then return { 'error', wrong } end
        if lk.lock.shape == 'full' then lk.insist(lk.key) end
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
end

if #KEYS == 0 or #KEYS % 4 ~= 0 or #KEYS > 400 then
    return { err = 'LKARG keys: expected 4 for each of 1 to 100 entries, got ' .. #KEYS }
end
if #ARGV ~= #KEYS then
    return { err = 'LKARG arguments: expected ' .. #KEYS .. ', got ' .. #ARGV }
end
lk.now = lk.clock()
local reply = { 'renewed', lk.now }
for at = 1, #KEYS, 4 do
    local answer = renew_shortly(at)
    if not answer then
        if not long_way then make_long_way() end
        answer = long_way(at)
    end
    reply[#reply + 1] = answer
end
return reply
