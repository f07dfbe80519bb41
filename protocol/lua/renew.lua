-- renew: holds and waiters of many locks. SPEC 10.5.
-- KEYS  for each entry the four of its lock (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms
-- Reply renewed time entry…, an entry being an array: lease ms · queued place ms ·
--       granted fence ms flags · not-held · error text
--@include clock.lua
--@include expiry.lua
--@include full.lua
--@include line.lua

-- The short ways: good arguments, a hold or one of few waiters, and nothing of its lock has run out.
-- What they do not answer goes the long way, whose functions cost more than all of this, and are
-- made when they are first needed.

local now, now_text = clock()

-- The lease in µs of an entry, if that, its req and its keys are as they must be. A handle and a fence
-- that a lock knows need no check, nor does the name of that lock.
local function lease_of(at)
    local key, req, lease = KEYS[at], ARGV[at + 2], ARGV[at + 3]
    if #req > 15 or #lease > 8 or not string.find(req .. ' ' .. lease, '^%d+ [1-9]%d%d+$')
        or KEYS[at + 1] ~= key .. ':d' or KEYS[at + 2] ~= key .. ':r'
        or KEYS[at + 3] ~= key .. ':w' then
        return
    end
    lease = tonumber(lease)
    if lease <= 86400000 then return lease * 1000 end
end

-- Nobody else holds it, and few or none wait. SPEC 5.1, 5.3. What is compared and what is left as it is
-- is told by its place: to cut it out would cost more than all else.
local function renew_sole(key, sole, at, lease)
    local waiting, writes, due_at, old, due_end, claim_at, provisional, claim_end, length, texts_at =
        string.match(sole, '^[0246] (%d) %d+ (%d+) ()(%d+)() %d+ %d+ %a %d+ ()(%d)() %d+ (%d+) ()', at)
    if not old or #old ~= #now_text or old <= now_text then return end
    local due, earliest, latest = tonumber(old), math.huge, 0
    if waiting ~= '0' then earliest, latest = line_dues(string.sub(sole, texts_at + length)) end
    if earliest <= now then return end
    if now + lease > due or provisional == '1' then
        due = math.max(due, now + lease)
        local rest = string.sub(sole, due_end)
        if provisional == '1' then
            rest = string.sub(sole, due_end, claim_at - 1) .. '0' .. string.sub(sole, claim_end)
        end
        hset(key, 'sole', string.sub(sole, 1, due_at - 1) .. digits(due) .. rest)
        redis.call('PEXPIREAT', key, expiry_ms(math.max(due, latest), writes ~= '0'))
    end
    return { 'lease', math.floor((due - now) / 1000) }
end

-- One of few that wait. SPEC 5.4, 5.5.
local function renew_in_line(key, handle, sole, req, lease)
    local held_until, length, at = string.match(sole,
        '^%S+ %d+ [0246] %d %d+ %d+ (%d+) %d+ %d+ %a %d+ %d %d+ (%d+) ()')
    held_until = tonumber(held_until)
    if not held_until or held_until <= now then return end
    local line = string.sub(sole, at + length)
    local earliest, latest = line_dues(line)
    local entry_at, place = 1, 1
    local due, texts_length, who, asked, texts_at
    while entry_at <= #line do
        due, texts_length, who, asked, texts_at = string.match(line,
            '^(%d+) (%d+) (%S+) (%d+) %d+ %d+ ()', entry_at)
        if who == handle then break end
        entry_at, place = texts_at + texts_length, place + 1
    end
    if who ~= handle or asked ~= req or earliest <= now then return end
    local renewed = math.max(tonumber(due), now + math.min(lease, 10000000))
    line = string.sub(line, 1, entry_at - 1) .. digits(renewed) .. string.sub(line, entry_at + #due)
    hset(key, 'sole', string.sub(sole, 1, at + length - 1) .. line)
    earliest, latest = line_dues(line)
    redis.call('PEXPIREAT', key, expiry_ms(math.max(held_until, latest), true))
    return { 'queued', place, math.ceil((math.min(held_until, earliest) - now) / 1000) }
end

-- Others hold or wait beside it. SPEC 5.1, 5.3.
local function renew_among_others(at, key, handle, fence, lease)
    local due_key = KEYS[at + 1]
    local v = redis.pcall('HMGET', key, 'h:' .. handle, 'write_holds', 'reader_waiters',
        'writer_waiters', 'up', 'mark')
    if not v[1] or v[6] then return end
    local counts, present, provisional, rest = string.match(v[1],
        '^(%d+ %d+ (%d+) %d+ %d+ %a %d+ )(%d)(.*)$')
    if fence ~= present then return end
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now_text, now_text, 'LIMIT', '0', '1')
    if run_out.err or run_out[1] then return end
    local member = 'h:' .. handle
    insist(key)
    redis.call('ZADD', due_key, 'GT', digits(now + lease), member)
    local due = tonumber(redis.call('ZSCORE', due_key, member))
    if provisional == '1' then redis.call('HSET', key, member, counts .. '0' .. rest) end
    local latest = tonumber(redis.call('ZRANGE', due_key, '-1', '-1', 'WITHSCORES')[2])
    if v[3] or v[4] or v[5] then
        latest = math.max(latest, -redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')[2])
    end
    local expires = expiry_ms(latest, v[2])
    redis.call('PEXPIREAT', key, expires)
    redis.call('PEXPIREAT', due_key, expires)
    if v[3] then redis.call('PEXPIREAT', KEYS[at + 2], expires) end
    if v[4] then redis.call('PEXPIREAT', KEYS[at + 3], expires) end
    return { 'lease', math.floor((due - now) / 1000) }
end

local function renew_shortly(at)
    local key, handle, fence = KEYS[at], ARGV[at], ARGV[at + 1]
    local lease = lease_of(at)
    local sole = lease and redis.pcall('HGET', key, 'sole')
    if type(sole) == 'string' then
        local named = handle .. ' ' .. fence .. ' '
        if #handle == 45 and string.sub(sole, 1, #named) == named then
            return renew_sole(key, sole, #named + 1, lease)
        end
        if fence == '0' then return renew_in_line(key, handle, sole, ARGV[at + 2], lease) end
    elseif sole == false and fence ~= '0' then
        return renew_among_others(at, key, handle, fence, lease)
    end
end

local long_way

local function make_long_way()
    --@include prelude.lua
    lk.now = now

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
        wrong = wrong or lk.unfold()
        if wrong then return { 'error', wrong } end
        if lk.lock.shape == 'full' then insist(lk.key) end
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
local reply = { 'renewed', now }
for at = 1, #KEYS, 4 do
    local answer = renew_shortly(at)
    if not answer then
        if not long_way then make_long_way() end
        answer = long_way(at)
    end
    reply[#reply + 1] = answer
end
return reply
