-- renew: holds and waiters of many locks. SPEC 10.5.
-- KEYS  for each entry the four of its lock (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms
-- Reply renewed time entry…, an entry being an array: lease ms · queued place ms ·
--       granted fence ms flags · not-held · error text
--@include lk.lua
--@include clock.lua
--@include full.lua
--@include line.lua

-- The short ways: good arguments, a hold or one of few waiters, and nothing of its lock has run out.
-- What they do not answer goes the long way, whose functions cost more than all of this, and are
-- made when they are first needed.

-- Fence, req and the lease in µs of an entry, if all of it is as it must be.
local function read_entry(at)
    local key, handle = KEYS[at], ARGV[at]
    local client, fence, req, lease = string.match(table.concat(ARGV, ' ', at, at + 3),
        '^([0-9a-f]+)%-[0-9a-f]+ (%d+) (%d+) (%d+)$')
    if not client or #client ~= 32 or #handle ~= 45 or #fence > 16
        or (#fence == 16 and fence > '9007199254740992') or #req > 15 or #lease > 9
        or tonumber(lease) < 100 or tonumber(lease) > 86400000 or #key > 512
        or not string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$') or KEYS[at + 1] ~= key .. ':d'
        or KEYS[at + 2] ~= key .. ':r' or KEYS[at + 3] ~= key .. ':w' then
        return
    end
    return tonumber(fence), tonumber(req), lease * 1000
end

-- The hold that an entry names: its record, the number of its writes, and 1 if it was handed over
-- and not claimed.
local function read_hold(key, handle, fence)
    local v = redis.pcall('HMGET', key, 'h:' .. handle, 'mark', 'sole', 'due', 'line')
    if not v[1] or v[2] then return end
    local writes, present, first, provisional = string.match(v[1],
        '^%d+ (%d+) (%d+) (%d+) %d+ %a %d+ (%d)')
    if fence >= tonumber(first) and fence <= tonumber(present) then return v, writes, provisional end
end

-- It is its client's from now on. SPEC 5.3.
local function claim(key, handle, record)
    redis.call('HSET', key, 'h:' .. handle,
        (string.gsub(record, '^(%d+ %d+ %d+ %d+ %d+ %a %d+ )1 ', '%10 ', 1)))
end

local function expiry(due, writes)
    return string.format('%.0f', math.ceil((writes and due + 3600000000 or due) / 1000))
end

-- Nobody else holds it, and few or none wait. SPEC 5.1.
local function renew_sole(key, handle, v, writes, provisional, lease)
    local due, latest, earliest, _ = tonumber(v[4]), 0, nil, nil
    if v[3] ~= handle or due <= lk.now then return end
    if v[5] then
        _, earliest, latest = lk.line_dues(v[5])
        if earliest <= lk.now then return end
    end
    if provisional == '1' then
        lk.insist(key)
        claim(key, handle, v[1])
    end
    if lk.now + lease > due then
        due = lk.now + lease
        lk.insist(key)
        redis.call('HSET', key, 'due', string.format('%.0f', due))
        redis.call('PEXPIREAT', key, expiry(math.max(due, latest), writes ~= '0'))
    end
    return { 'lease', math.floor((due - lk.now) / 1000) }
end

-- One of few that wait. SPEC 5.4, 5.5.
local function renew_in_line(key, handle, req, lease)
    local v = redis.pcall('HMGET', key, 'line', 'due', 'mark')
    local line, held_until = v[1], tonumber(v[2])
    if not line or v[3] or held_until <= lk.now then return end
    local at, place, found, found_place = 1, 0, nil, nil
    while at <= #line do
        local length, from = string.match(line, '^%d+ (%d+) ()', at)
        place = place + 1
        if string.sub(line, from, from + 44) == handle then found, found_place = at, place end
        at = from + length
    end
    if not found or string.match(line, '^%d+ %d+ %S+ %d+ (%d+)', found) ~= tostring(req) then return end
    local _, earliest = lk.line_dues(line)
    if earliest <= lk.now then return end
    local old, after = string.match(line, '^(%d+)()', found)
    local due = math.max(tonumber(old), lk.now + math.min(lease, 10000000))
    line = string.sub(line, 1, found - 1) .. string.format('%.0f', due) .. string.sub(line, after)
    lk.insist(key)
    redis.call('HSET', key, 'line', line)
    local latest
    _, earliest, latest = lk.line_dues(line)
    redis.call('PEXPIREAT', key, expiry(math.max(held_until, latest), true))
    return { 'queued', found_place,
        math.ceil((math.min(held_until, earliest) - lk.now) / 1000) }
end

-- Others hold or wait beside it. SPEC 5.1, 5.3.
local function renew_among_others(at, key, handle, v, provisional, lease)
    local due_key, now = KEYS[at + 1], string.format('%.0f', lk.now)
    if v[3] then return end
    local others = redis.call('HMGET', key, 'write_holds', 'reader_waiters', 'writer_waiters', 'up')
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now, now, 'LIMIT', '0', '1')
    if run_out.err or run_out[1] then return end
    local member = 'h:' .. handle
    lk.insist(key)
    redis.call('ZADD', due_key, 'GT', string.format('%.0f', lk.now + lease), member)
    local due = tonumber(redis.call('ZSCORE', due_key, member))
    if provisional == '1' then claim(key, handle, v[1]) end
    local latest = tonumber(redis.call('ZRANGE', due_key, '-1', '-1', 'WITHSCORES')[2])
    if others[2] or others[3] or others[4] then
        latest = math.max(latest, -redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')[2])
    end
    local expires = expiry(latest, others[1])
    redis.call('PEXPIREAT', key, expires)
    redis.call('PEXPIREAT', due_key, expires)
    if others[2] then redis.call('PEXPIREAT', KEYS[at + 2], expires) end
    if others[3] then redis.call('PEXPIREAT', KEYS[at + 3], expires) end
    return { 'lease', math.floor((due - lk.now) / 1000) }
end

local function renew_shortly(at)
    local key, handle = KEYS[at], ARGV[at]
    local fence, req, lease = read_entry(at)
    if not fence then return end
    if fence == 0 then return renew_in_line(key, handle, req, lease) end
    local v, writes, provisional = read_hold(key, handle, fence)
    if not v then return end
    return renew_sole(key, handle, v, writes, provisional, lease)
        or renew_among_others(at, key, handle, v, provisional, lease)
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
        wrong = wrong or lk.unfold()
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
