-- renew: renews holds and waiters of many locks. SPEC 10.5.
-- KEYS  for each entry the four keys of its lock (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms
-- Reply the line `renewed time`, then one for each entry: lease ms · queued place ms ·
--       granted fence ms flags · not-held · error text
--@include clock.lua
--@include expiry.lua
--@include full.lua
--@include sole.lua

-- The short paths: the arguments are valid, the entry is a hold or one of few waiters, and nothing of
-- its lock has expired. All other entries take the long path. Its functions cost more than all of this,
-- and are created when they are first needed.

local now = tonumber(now_text)

-- The values that follow from a lease, or false if it is not valid. Most entries of a call have the same
-- lease.
local terms = {}

local function terms_of(lease_ms)
    local of = terms[lease_ms]
    if of == nil then
        of = false
        if #lease_ms < 9 and string.find(lease_ms, '^[1-9]%d%d+$') and lease_ms + 0 <= 86400000 then
            local due = now + lease_ms * 1000
            of = { lease = lease_ms * 1000, due = digits(due), read = expiry_ms(due, false),
                write = expiry_ms(due, true), answer = 'lease ' .. lease_ms }
        end
        terms[lease_ms] = of
    end
    return of
end

-- The same for an entry, if its req and its keys are valid too. A handle and a fence that match those of
-- a lock need no check of their form, and neither does the name of that lock.
local function terms_at(at)
    local key, req = KEYS[at], ARGV[at + 2]
    if (req == '0' or (#req < 16 and string.find(req, '^%d+$'))) and KEYS[at + 1] == key .. ':d'
        and KEYS[at + 2] == key .. ':r' and KEYS[at + 3] == key .. ':w' and #now_text == 16 then
        return terms_of(ARGV[at + 3])
    end
end

-- Renews the only hold of a lock with few or no waiters. SPEC 5.1, 5.3.
local function renew_sole(at, sole, terms)
    local kind, mode, flags, waiting = string.byte(sole, 1, 4)
    if kind == 120 or flags % 2 == 1 then return end -- x, and a mark
    local old, due = string.sub(sole, 23, 38), terms.due
    local expires = mode == 119 and terms.write or terms.read
    if waiting == 48 and due >= old then
        if old <= now_text then return end
    else
        local earliest, latest = entries_due(sole, 23)
        if earliest <= now_text then return end
        if due < old then due = old end
        expires = expiry_ms(due > latest and due or latest, mode == 119)
    end
    if due > old or kind == 104 then -- h
        set(KEYS[at], KEYS[at + 1], (kind == 104 and 'c' or string.sub(sole, 1, 1))
            .. string.sub(sole, 2, 22) .. due .. string.sub(sole, 39), expires)
    end
    if due == terms.due then return terms.answer end
    return string.format('lease %d', math.floor((due - now) / 1000))
end

-- Renews one of few waiters. SPEC 5.4, 5.5.
local function renew_in_line(at, handle, sole, req, lease)
    local place, from = 0, 23
    if not string.find(sole, '^[ahc]w[0246][1-8] ') or entries_due(sole, 23) <= now_text then return end
    repeat
        from, place = entry_end(sole, from), place + 1
        local who = string.sub(sole, from + 37, from + 81)
    until who == handle or who == ''
    if string.match(sole, '^%d+', from + 83) ~= req then return end
    local old = string.sub(sole, from, from + 15)
    local due = digits(now + math.min(lease, 10000000))
    if due < old then due = old end
    sole = string.sub(sole, 1, from - 1) .. due .. string.sub(sole, from + 16)
    local earliest, latest = entries_due(sole, 23)
    set(KEYS[at], KEYS[at + 1], sole, expiry_ms(latest, true))
    return string.format('queued %d %d', place, math.ceil((earliest - now) / 1000))
end

-- Renews a hold of a lock in its full shape. SPEC 5.1, 5.3.
local function renew_among_others(at, key, handle, fence, terms)
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
    insist(due_key)
    redis.call('ZADD', due_key, 'GT', terms.due, member)
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
    return string.format('lease %d', math.floor((due - now) / 1000))
end

local function renew_shortly(at)
    local key, handle, fence = KEYS[at], ARGV[at], ARGV[at + 1]
    local terms = terms_at(at)
    local sole = terms and redis.pcall('GET', key)
    if sole and #sole > 105 then
        if fence == '0' then return renew_in_line(at, handle, sole, ARGV[at + 2], terms.lease) end
        if #handle == 45 and #fence == 16 and string.find(sole, handle, 60, true) == 60
            and string.find(sole, fence, 6, true) == 6 then
            return renew_sole(at, sole, terms)
        end
    elseif type(sole) == 'table' and fence ~= '0' then
        return renew_among_others(at, key, handle, fence, terms)
    end
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

    -- Also returns the handle if the answer tells its waiter the place.
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
        if wrong then return 'error ' .. wrong end
        if lk.lock.shape == 'full' then insist(lk.due_key) end
        lk.begin()
        local hold, waiter = lk.hold_of(entry.handle), lk.waiter_of(entry.handle)
        local reply, told
        if entry.fence == 0 then
            reply, told = renew_waiter(hold, waiter, entry)
        else
            reply = renew_hold(hold, entry)
        end
        lk.finish(told)
        return lk.line(reply)
    end
end

if #KEYS == 0 or #KEYS % 4 ~= 0 or #KEYS > 400 then
    return { err = 'LKARG keys: expected 4 for each of 1 to 100 entries, got ' .. #KEYS }
end
if #ARGV ~= #KEYS then
    return { err = 'LKARG arguments: expected ' .. #KEYS .. ', got ' .. #ARGV }
end
local reply = { 'renewed ' .. now_text }
for at = 1, #KEYS, 4 do
    local answer = renew_shortly(at)
    if not answer then
        if not long_way then make_long_way() end
        answer = long_way(at)
    end
    reply[#reply + 1] = answer
end
return reply
