-- release: releases one read or one write. SPEC 10.4.
-- KEYS  the four keys of the lock (SPEC 11.1)
-- ARGV  handle req fence mode
-- Reply released time reads writes · not-held time · stale time
--@include clock.lua

-- The short paths: the arguments are valid, there is no mark, nothing has expired, and the only hold is
-- the caller's, with this one count. All other requests take the long path below. The short paths come
-- first, the most common case before the others, because creating the functions of the long path costs
-- more than all of this.
local args, key = ARGV, KEYS[1]
local handle, req, fence, mode = args[1], args[2], args[3], args[4]

-- Returns whether the number of the request is valid and above `last`, and whether the keys are valid.
local function comes_after(last, req, key)
    return (#req > #last or (#req == #last and req > last)) and #req < 16
        and string.find(req, '^[1-9]%d*$') and KEYS[2] == key .. ':d' and KEYS[3] == key .. ':r'
        and KEYS[4] == key .. ':w'
end

-- waiting: the number of waiters, if the only hold (sole.lua) is the caller's and this releases all of
-- it; otherwise nil. A handle and a fence that match those of the hold need no check of their form.
local sole = #KEYS == 4 and #args == 4 and #handle == 45 and #fence == 16 and #now_text == 16
    and (mode == 'read' or mode == 'write') and redis.pcall('GET', key)
local waiting
if sole and #sole > 105 and string.find(sole, handle, 60, true) == 60
    and string.find(sole, fence, 6, true) == 6 and string.sub(sole, 23, 38) > now_text
    and comes_after(string.match(sole, '^%d+', 106), req, key) then
    local kind, held, flags, few = string.byte(sole, 1, 4)
    if kind ~= 120 and flags % 2 == 0 and held == (mode == 'write' and 119 or 114) then -- x, w, r
        waiting = few - 48
    end
end
if waiting == 0 then
    redis.call('DEL', key)
    return 'released ' .. now_text .. ' 0 0'
end
--@include expiry.lua
--@include sole.lua

-- Sends messages to the heir, and to the first waiter after it; both are given as handle and req. The
-- calls are protected, as in store.lua.
local function tell(key, now_text, heir, fence, claim_ms, flags, next, earliest)
    local prefix, client = string.match(key, '^[^{}]+:'), string.sub(heir, 1, 32)
    local news = 'granted ' .. heir .. ' ' .. fence .. ' ' .. now_text .. ' ' .. claim_ms .. ' ' .. flags
    if next then
        local watch = 'watch ' .. next .. ' 0 ' .. now_text
            .. string.format(' %d 0', math.ceil((earliest - now_text) / 1000))
        local other = string.sub(next, 1, 32)
        if other ~= client then
            redis.pcall('PUBLISH', prefix .. client, news)
            client, news = other, watch
        else
            news = news .. '\n' .. watch
        end
    end
    redis.pcall('PUBLISH', prefix .. client, news)
    return 'released ' .. now_text .. ' 0 0'
end

-- Few writers wait, and the first of them gets the lock. The whole lock is one string. If a full server
-- refuses this, the long path insists (full.lua).
local at = waiting and entry_end(sole, 23)
if at and string.sub(sole, at, at + 15) > now_text then
    local req_end, lease_ms = string.match(sole, '^%d+() (%d+)', at + 83)
    local claim_ms = #lease_ms > 3 and '1000' or lease_ms -- SPEC 5.3
    local drawn = fence < now_text and now_text or digits(fence + 1) -- SPEC 8.1
    local due = digits(now_text + claim_ms * 1000)
    local earliest, latest, left, next = due, due, '0', nil
    if waiting > 1 then
        local behind = entry_end(sole, at)
        earliest, latest = entries_due(sole, behind)
        left, next = string.char(47 + waiting), string.match(sole, '^%S+ %d+', behind + 37)
    end
    if earliest > now_text then
        if due < earliest then earliest = due end
        if due > latest then latest = due end
        local flags = string.sub(sole, 3, 3)
        local stored = redis.pcall('SET', key, 'hw' .. flags .. left .. ' ' .. drawn .. ' ' .. due .. ' '
            .. now_text .. ' ' .. string.sub(sole, at + 34), 'PXAT', expiry_ms(latest, true))
        if not stored.err then
            return tell(key, now_text, string.sub(sole, at + 37, req_end - 1), drawn, claim_ms, flags,
                next, earliest)
        end
    end
end
--@include entry.lua

-- A writer releases the lock, only writers wait, and the first of them gets it. If nobody waits behind
-- that one, the lock becomes sole again.
local function hand_over()
    local due_key, queue, now = KEYS[2], KEYS[4], tonumber(now_text)
    local v = redis.pcall('HMGET', key, 'h:' .. handle, 'o:' .. handle, 'owners', 'writer_waiters',
        'fence', 'policy', 'floor', 'group', 'mark', 'up', 'read_holds', 'reader_waiters')
    -- The long path counts owners that are not the handle itself, and owners with more than one hold.
    if not v[1] or v[2] ~= '1' or v[3] ~= '1' or not v[4] or v[9] or v[10] or v[11] or v[12] then
        return
    end
    local counts, present, last = string.match(v[1], '^(%d+ %d+) (%d+) %d+ (%d+) ')
    if present ~= fence or counts ~= '0 1' or not comes_after(last, req, key) then return end
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now_text, now_text, 'LIMIT', '0',
        '1')
    local heads = redis.pcall('ZRANGE', queue, '0', '1')
    if run_out.err or run_out[1] or heads.err then return end
    local heir, next = heads[1], heads[2]
    local records = redis.call('HMGET', key, 'w:' .. heir, 'w:' .. (next or ''))
    local lease, heir_req, texts = string.match(records[1], '^write %d+ (%d+) (%d+) %d+ (.*)$')
    local next_req, next_owner = string.match(records[2] or '', '^write %d+ %d+ (%d+) %d+ (%d+)')
    if string.sub(texts, 1, 2) ~= '0 ' or (next and next_owner ~= '0') or (v[8] and not next) then
        return
    end

    local policy, above = v[6], v[5]
    local flags = policy == 'fair' and '0' or policy == 'phase-fair' and '2'
        or policy == 'prefer-writer' and '4' or '6'
    if v[7] and tonumber(v[7]) > tonumber(above) then above = v[7] end
    local claim_ms = math.min(1000, lease / 1000) -- SPEC 5.3
    local drawn, ends = digits(math.max(above + 1, now)), now + claim_ms * 1000
    if not next then
        redis.call('DEL', key, due_key, queue)
        redis.call('SET', key, with_entry('hw' .. flags .. '0 ' .. drawn .. ' ', digits(ends), now_text,
            heir, heir_req, '0', texts), 'PXAT', expiry_ms(ends, true))
        return tell(key, now_text, heir .. ' ' .. heir_req, drawn, claim_ms, flags)
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
    redis.call('HSET', key, 'fence', drawn, 'o:' .. heir, '1', 'h:' .. heir, '0 1 ' .. drawn .. ' '
        .. drawn .. ' ' .. heir_req .. ' a ' .. heir_req .. ' 1 ' .. now_text .. ' ' .. texts,
        'writer_waiters', left)
    redis.call('PEXPIREAT', key, expires)
    redis.call('PEXPIREAT', due_key, expires)
    redis.call('PEXPIREAT', queue, expires)
    return tell(key, now_text, heir .. ' ' .. heir_req, drawn, claim_ms, flags,
        next .. ' ' .. next_req, math.min(ends, -waiters[2]))
end

local handed_over = type(sole) == 'table' and mode == 'write' and hand_over()
if handed_over then return handed_over end
--@include prelude.lua

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
