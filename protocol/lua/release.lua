-- release: give back one read or one write. SPEC 10.4.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode
-- Reply released time reads writes · not-held time · stale time
--@include lk.lua
--@include clock.lua
--@include line.lua

-- The short ways: good arguments, no mark, nothing has run out, and the caller's is the only hold,
-- with this one count. The rest goes the long way below. They stand here because making the
-- functions of the long way costs more than all of this.
lk.now = lk.clock()

local function read_record()
    if #KEYS ~= 4 or #ARGV ~= 4 then return end
    local key, handle = KEYS[1], ARGV[1]
    local v = redis.pcall('HMGET', key, 'h:' .. handle, 'mark', 'sole', 'due', 'owners', 'up',
        'read_holds', 'reader_waiters', 'writer_waiters', 'fence', 'floor', 'policy', 'line')
    if not v[1] or v[2] then return end
    local client, req, fence, mode = string.match(table.concat(ARGV, ' '),
        '^([0-9a-f]+)%-[0-9a-f]+ (%d+) (%d+) (%l+)$')
    if not client or #client ~= 32 or #handle ~= 45 or #req > 15 or #fence > 16
        or (#fence == 16 and fence > '9007199254740992') or #key > 512
        or not string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$') or KEYS[2] ~= key .. ':d'
        or KEYS[3] ~= key .. ':r' or KEYS[4] ~= key .. ':w' then
        return
    end
    local counts, present, first, last = string.match(v[1], '^(%d+ %d+) (%d+) (%d+) (%d+) ')
    fence = tonumber(fence)
    if ((mode == 'read' and counts == '1 0') or (mode == 'write' and counts == '0 1'))
        and tonumber(req) > tonumber(last) and fence >= tonumber(first)
        and fence <= tonumber(present) then
        return v, mode
    end
end

-- Nobody waits.
local function release_sole(v)
    if v[3] ~= ARGV[1] or v[13] or tonumber(v[4]) <= lk.now then return end
    redis.call('DEL', KEYS[1])
    return { 'released', lk.now, 0, 0 }
end

-- What the first in order gets: fence, deadline, record, and the line that tells its client. SPEC
-- 3.7, 5.3, 8.1.
local function bequeath(v, heir, lease, req, texts)
    local now = string.format('%.0f', lk.now)
    local fence = string.format('%.0f', math.max(v[10] + 1, lk.now, (v[11] or 0) + 1))
    local claim = math.min(1000000, tonumber(lease))
    local policy = v[12]
    local flags = policy == 'fair' and 0 or policy == 'phase-fair' and 2
        or policy == 'prefer-writer' and 4 or 6
    return fence, lk.now + claim,
        table.concat({ '0 1', fence, fence, req, 'a', req, '1', now, texts }, ' '),
        table.concat({ 'granted', heir, req, fence, now, math.floor(claim / 1000), flags }, ' ')
end

-- Sets the expiry, and tells the heir and who is first after it.
local function conclude(keys, latest, heir, line, next, req, earliest)
    local at = string.format('%.0f', math.ceil((latest + 3600000000) / 1000))
    for i = 1, #keys do redis.call('PEXPIREAT', keys[i], at) end
    local channel, client = string.match(KEYS[1], '^[^{}]+:'), string.sub(heir, 1, 32)
    local watch = next and table.concat({ 'watch', next, req, '0', string.format('%.0f', lk.now),
        math.ceil((earliest - lk.now) / 1000), '0' }, ' ')
    if next and string.sub(next, 1, 32) == client then line, watch = line .. '\n' .. watch, nil end
    -- Protected, as in store.lua.
    redis.pcall('PUBLISH', channel .. client, line)
    if watch then redis.pcall('PUBLISH', channel .. string.sub(next, 1, 32), watch) end
    return { 'released', lk.now, 0, 0 }
end

-- A writer leaves, few wait to write, and all of it is in the hash (lock.lua).
local function hand_down_the_line(v)
    local key, handle, line = KEYS[1], ARGV[1], v[13]
    if not line or v[3] ~= handle or tonumber(v[4]) <= lk.now then return end
    local due, length, from = string.match(line, '^(%d+) (%d+) ()')
    local rest = string.sub(line, from + length)
    local _, earliest, latest = lk.line_dues(rest)
    if tonumber(due) <= lk.now or earliest <= lk.now then return end
    local heir, lease, req, texts = string.match(string.sub(line, from, from + length - 1),
        '^(%S+) (%d+) (%d+) %d+ (.*)$')
    local fence, ends, hold, told = bequeath(v, heir, lease, req, texts)
    local next, next_req = string.match(rest, '^%d+ %d+ (%S+) %d+ (%d+)')
    if next then
        redis.call('HDEL', key, 'h:' .. handle)
        redis.call('HSET', key, 'fence', fence, 'sole', heir, 'due', string.format('%.0f', ends),
            'h:' .. heir, hold, 'line', rest)
    else
        redis.call('HDEL', key, 'h:' .. handle, 'line')
        redis.call('HSET', key, 'fence', fence, 'sole', heir, 'due', string.format('%.0f', ends),
            'h:' .. heir, hold)
    end
    return conclude({ key }, math.max(ends, latest), heir, told, next, next_req,
        math.min(ends, earliest))
end

-- A writer leaves, only writers wait, and the first of them has it. If nobody waits behind that,
-- the lock is sole again.
local function hand_over(v)
    local key, due_key, queue, handle = KEYS[1], KEYS[2], KEYS[4], ARGV[1]
    if v[5] ~= '1' or v[6] or v[7] or v[8] or not v[9] then return end
    local now = string.format('%.0f', lk.now)
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now, now, 'LIMIT', '0', '1')
    local heads = redis.pcall('ZRANGE', queue, '0', '1')
    if run_out.err or run_out[1] or heads.err then return end
    local heir, next = heads[1], heads[2]
    local records = redis.call('HMGET', key, 'w:' .. heir, 'w:' .. (next or ''), 'o:' .. handle)
    local lease, req, texts = string.match(records[1], '^write %d+ (%d+) (%d+) %d+ (.*)$')
    -- Who acts for another, or has more than this hold, is counted in ways that are left to the long
    -- way.
    if records[3] ~= '1' or string.sub(texts, 1, 2) ~= '0 ' then return end

    local fence, ends, hold, told = bequeath(v, heir, lease, req, texts)
    local due = string.format('%.0f', ends)
    if not next then
        redis.call('DEL', due_key, queue)
        redis.call('HDEL', key, 'h:' .. handle, 'w:' .. heir, 'o:' .. handle, 'writer_waiters',
            'owners', 'write_holds', 'phase', 'ticket')
        redis.call('HSET', key, 'fence', fence, 'sole', heir, 'due', due, 'h:' .. heir, hold)
        return conclude({ key }, ends, heir, told)
    end
    local waiting = v[9] - 1
    redis.call('ZREM', due_key, 'h:' .. handle, 'w:' .. heir)
    redis.call('ZREM', queue, heir)
    redis.call('ZADD', due_key, due, 'h:' .. heir)
    local waiters = redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')
    local latest = math.max(ends, -waiters[2])
    if waiting > 1 then
        waiters = redis.call('ZRANGE', due_key, waiting - 1, waiting - 1, 'WITHSCORES')
    end
    redis.call('HDEL', key, 'h:' .. handle, 'w:' .. heir, 'o:' .. handle)
    redis.call('HSET', key, 'fence', fence, 'o:' .. heir, '1', 'h:' .. heir, hold,
        'writer_waiters', waiting)
    return conclude({ key, due_key, queue }, latest, heir, told, next,
        string.match(records[2], '^write %d+ %d+ (%d+)'), math.min(ends, -waiters[2]))
end

local record, mode = read_record()
local released = record and (release_sole(record)
    or mode == 'write' and (hand_down_the_line(record) or hand_over(record)))
if released then return released end
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
