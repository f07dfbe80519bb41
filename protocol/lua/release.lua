-- release: give back one read or one write. SPEC 10.4.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode
-- Reply released time reads writes · not-held time · stale time
--@include clock.lua

-- The short ways: good arguments, no mark, nothing has run out, and the caller's is the only hold,
-- with this one count. The rest goes the long way below. They stand here, each behind the one that
-- is met more often, because making the functions of the long way costs more than all of this.
local now, now_text = clock()

-- Whether keys and request are as they must be, and a hold of these counts, whose last request is
-- this, is given back whole. Who names a hold by its handle and its fence needs no check of these.
local function gives_back(counts, last)
    local key, req = KEYS[1], ARGV[2]
    return counts == (ARGV[4] == 'read' and '1 0' or ARGV[4] == 'write' and '0 1')
        and (#req > #last or (#req == #last and req > last)) and #req < 16
        and string.find(req, '^[1-9]%d*$') and KEYS[2] == key .. ':d' and KEYS[3] == key .. ':r'
        and KEYS[4] == key .. ':w'
end

-- The only hold, if it is the caller's and all of it is given back: how many wait, and where the rest
-- of its record begins.
local named = #KEYS == 4 and #ARGV == 4 and #ARGV[1] == 45 and ARGV[1] .. ' ' .. ARGV[3] .. ' '
local sole = named and redis.pcall('HGET', KEYS[1], 'sole')
local flags, waiting, due, at
if type(sole) == 'string' and string.sub(sole, 1, #named) == named then
    local counts, last
    flags, waiting, counts, due, last, at = string.match(sole,
        '^([0246]) (%d) (%d %d) (%d+) (%d+) ()', #named + 1)
    if not due or #due ~= #now_text or due <= now_text or not gives_back(counts, last) then
        waiting = nil
    end
end
if waiting == '0' then
    redis.call('DEL', KEYS[1])
    return { 'released', now, 0, 0 }
end
--@include expiry.lua
--@include full.lua
--@include line.lua

-- The fence of who is granted after this one. SPEC 8.1.
local function draw(above)
    if #above == #now_text and above < now_text then return now_text end
    return digits(math.max(above + 1, now))
end

-- A sole hold that its client has not claimed, up to its texts (record.lua).
local function handed(heir, fence, flags, left, due, req, texts_length)
    return heir .. ' ' .. fence .. ' ' .. flags .. ' ' .. left .. ' 0 1 ' .. digits(due) .. ' ' .. req
        .. ' ' .. fence .. ' a ' .. req .. ' 1 ' .. now_text .. ' ' .. texts_length .. ' '
end

-- Tells the heir, and who is first after it.
local function tell(heir, req, fence, claim, flags, next, next_req, earliest)
    local channel, client = string.match(KEYS[1], '^[^{}]+:'), string.sub(heir, 1, 32)
    local claim_ms = claim == 1000000 and '1000' or string.format('%d', claim / 1000)
    local news = 'granted ' .. heir .. ' ' .. req .. ' ' .. fence .. ' ' .. now_text .. ' ' .. claim_ms
        .. ' ' .. flags
    local watch = next and 'watch ' .. next .. ' ' .. next_req .. ' 0 ' .. now_text
        .. string.format(' %d 0', math.ceil((earliest - now) / 1000))
    if next and string.sub(next, 1, 32) == client then news, watch = news .. '\n' .. watch, nil end
    -- Protected, as in store.lua.
    redis.pcall('PUBLISH', channel .. client, news)
    if watch then redis.pcall('PUBLISH', channel .. string.sub(next, 1, 32), watch) end
    return { 'released', now, 0, 0 }
end

-- Few wait to write, and the first of them has it. All of it is in one field (line.lua).
local function hand_down_the_line()
    local key = KEYS[1]
    local length, texts_at = string.match(sole, '^%d+ %a %d+ %d %d+ (%d+) ()', at)
    local heir_due, heir_length, heir, req, lease, heir_at = string.match(sole,
        '^(%d+) (%d+) (%S+) (%d+) (%d+) %d+ ()', texts_at + length)
    if #heir_due ~= #now_text or heir_due <= now_text then return end
    local claim = math.min(1000000, tonumber(lease)) -- SPEC 5.3
    local ends = now + claim
    local expires, left, earliest, latest, next, next_req = ends, '0', nil, nil, nil, nil
    if waiting ~= '1' then
        local rest = string.sub(sole, heir_at + heir_length)
        earliest, latest = line_dues(rest)
        if earliest <= now then return end
        left = string.char(string.byte(waiting) - 1)
        expires, earliest = math.max(ends, latest), math.min(ends, earliest)
        next, next_req = string.match(rest, '^%d+ %d+ (%S+) (%d+)')
    end
    local fence = draw(ARGV[3])
    local record = handed(heir, fence, flags, left, ends, req, heir_length)
        .. string.sub(sole, heir_at)
    hset(key, 'sole', record)
    redis.call('PEXPIREAT', key, expiry_ms(expires, true))
    return tell(heir, req, fence, claim, flags, next, next_req, earliest)
end
local handed_down = waiting and hand_down_the_line()
if handed_down then return handed_down end

-- A writer leaves, only writers wait, and the first of them has it. If nobody waits behind that,
-- the lock is sole again.
local function hand_over()
    local key, due_key, queue, handle = KEYS[1], KEYS[2], KEYS[4], ARGV[1]
    local v = redis.call('HMGET', key, 'h:' .. handle, 'o:' .. handle, 'owners', 'writer_waiters',
        'fence', 'policy', 'floor', 'group', 'mark', 'up', 'read_holds', 'reader_waiters')
    -- Who acts for another, or has more than this hold, is counted in ways that are left to the long
    -- way.
    if not v[1] or v[2] ~= '1' or v[3] ~= '1' or not v[4] or v[9] or v[10] or v[11] or v[12] then
        return
    end
    local counts, present, last = string.match(v[1], '^(%d+ %d+) (%d+) %d+ (%d+) ')
    if present ~= ARGV[3] or not gives_back(counts, last) then return end
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now_text, now_text, 'LIMIT', '0',
        '1')
    local heads = redis.pcall('ZRANGE', queue, '0', '1')
    if run_out.err or run_out[1] or heads.err then return end
    local heir, next = heads[1], heads[2]
    local records = redis.call('HMGET', key, 'w:' .. heir, 'w:' .. (next or ''))
    local lease, req, texts = string.match(records[1], '^write %d+ (%d+) (%d+) %d+ (.*)$')
    local next_req, next_owner = string.match(records[2] or '', '^write %d+ %d+ (%d+) %d+ (%d+)')
    if string.sub(texts, 1, 2) ~= '0 ' or (next and next_owner ~= '0') then return end

    local policy, above = v[6], v[5]
    local flags = policy == 'fair' and '0' or policy == 'phase-fair' and '2'
        or policy == 'prefer-writer' and '4' or '6'
    if v[7] and tonumber(v[7]) > tonumber(above) then above = v[7] end
    local claim = math.min(1000000, tonumber(lease)) -- SPEC 5.3
    local fence, ends = draw(above), now + claim
    if not next then
        redis.call('DEL', key, due_key, queue)
        redis.call('HSET', key, 'sole', handed(heir, fence, flags, '0', ends, req, #texts) .. texts)
        if v[8] then redis.call('HSET', key, 'group', v[8]) end
        redis.call('PEXPIREAT', key, expiry_ms(ends, true))
        return tell(heir, req, fence, claim, flags)
    end
    local left = v[4] - 1
    redis.call('ZREM', due_key, 'h:' .. handle, 'w:' .. heir)
    redis.call('ZREM', queue, heir)
    redis.call('ZADD', due_key, digits(ends), 'h:' .. heir)
    local waiters = redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')
    local expires = expiry_ms(math.max(ends, -waiters[2]), true)
    if left > 1 then
        waiters = redis.call('ZRANGE', due_key, left - 1, left - 1, 'WITHSCORES')
    end
    redis.call('HDEL', key, 'h:' .. handle, 'w:' .. heir, 'o:' .. handle)
    redis.call('HSET', key, 'fence', fence, 'o:' .. heir, '1', 'h:' .. heir, '0 1 ' .. fence .. ' '
        .. fence .. ' ' .. req .. ' a ' .. req .. ' 1 ' .. now_text .. ' ' .. texts, 'writer_waiters',
        left)
    redis.call('PEXPIREAT', key, expires)
    redis.call('PEXPIREAT', due_key, expires)
    redis.call('PEXPIREAT', queue, expires)
    return tell(heir, req, fence, claim, flags, next, next_req, math.min(ends, -waiters[2]))
end

local handed_over = named and sole == false and ARGV[4] == 'write' and hand_over()
if handed_over then return handed_over end
--@include prelude.lua
lk.now = now

local function decide(request, hold, waiter)
    local seen, reads = lk.seen(request, hold, waiter, 'r'), request.mode == 'read'
    if seen == 'again' then return { 'released', lk.now, hold.reads, hold.writes } end
    if seen then return { 'stale', lk.now } end
    if not lk.means(hold, request.fence) or (reads and hold.reads or hold.writes) == 0 then
        return { 'not-held', lk.now }
    end
    hold.last, hold.op = request.req, 'r'
    lk.hold_count(hold, reads and -1 or 0, reads and 0 or -1)
    if not reads then lk.wrote(hold) end
    if hold.reads == 0 and hold.writes == 0 then
        lk.hold_remove(hold)
        local up = lk.lock.up and lk.waiter_of(lk.lock.up)
        if up and lk.count('o:' .. up.owner) == 0 then -- SPEC 4.5
            lk.lock.up = nil
            lk.waiter_enqueue(up)
        end
    end
    return { 'released', lk.now, hold.reads, hold.writes }
end

return lk.run({ 'handle', 'req', 'fence', 'mode' }, decide)
