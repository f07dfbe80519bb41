-- release: give back one read or one write. SPEC 10.4.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode
-- Reply released time reads writes · not-held time · stale time
--@include lk.lua
--@include clock.lua

-- The two short ways: good arguments, no mark, nothing has run out, and the caller's is the only
-- hold, with this one count. The rest goes the long way below. They stand here because making the
-- functions of the long way costs more than all of this.
lk.now = lk.clock()

local function read_record()
    if #KEYS ~= 4 or #ARGV ~= 4 then return end
    local key, handle = KEYS[1], ARGV[1]
    local v = redis.pcall('HMGET', key, 'h:' .. handle, 'mark', 'sole', 'due', 'owners', 'up',
        'read_holds', 'reader_waiters', 'writer_waiters', 'fence', 'floor', 'policy')
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
    if v[3] ~= ARGV[1] or tonumber(v[4]) <= lk.now then return end
    redis.call('DEL', KEYS[1])
    return { 'released', lk.now, 0, 0 }
end

-- A writer leaves, only writers wait, and the first of them has it: SPEC 3.7, 5.3, 8.1.
local function hand_over(v, mode)
    local key, due_key, queue, handle = KEYS[1], KEYS[2], KEYS[4], ARGV[1]
    if mode ~= 'write' or v[5] ~= '1' or v[6] or v[7] or v[8] or not v[9] then return end
    local now = string.format('%.0f', lk.now)
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now, now, 'LIMIT', '0', '1')
    local heads = redis.pcall('ZRANGE', queue, '0', '1')
    if run_out.err or run_out[1] or heads.err then return end
    local heir, next = heads[1], heads[2]
    local texts = redis.call('HMGET', key, 'w:' .. heir, 'w:' .. (next or ''), 'o:' .. handle)
    local lease, req, rest = string.match(texts[1], '^write %d+ (%d+) (%d+) %d+ (.*)$')
    -- Who acts for another, or has more than this hold, is counted in ways that are left to the long
    -- way.
    if texts[3] ~= '1' or string.sub(rest, 1, 2) ~= '0 ' then return end

    local fence = string.format('%.0f', math.max(v[10] + 1, lk.now, (v[11] or 0) + 1))
    local claim = math.min(1000000, tonumber(lease))
    local policy = v[12]
    local flags = policy == 'fair' and 0 or policy == 'phase-fair' and 2
        or policy == 'prefer-writer' and 4 or 6
    local waiting = v[9] - 1
    local due, line = lk.now + claim, table.concat({ 'granted', heir, req, fence, now,
        math.floor(claim / 1000), flags }, ' ')
    redis.call('ZREM', due_key, 'h:' .. handle, 'w:' .. heir)
    redis.call('ZREM', queue, heir)
    redis.call('ZADD', due_key, string.format('%.0f', due), 'h:' .. heir)
    local latest, watch = due
    if next then
        local waiters = redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')
        latest = math.max(due, -waiters[2])
        if waiting > 1 then
            waiters = redis.call('ZRANGE', due_key, waiting - 1, waiting - 1, 'WITHSCORES')
        end
        watch = table.concat({ 'watch', next, string.match(texts[2], '^write %d+ %d+ (%d+)'), '0',
            now, math.ceil((math.min(due, -waiters[2]) - lk.now) / 1000), '0' }, ' ')
    end
    local hold = table.concat({ '0 1', fence, fence, req, 'a', req, '1', now, rest }, ' ')
    if next then
        redis.call('HDEL', key, 'h:' .. handle, 'w:' .. heir, 'o:' .. handle)
        redis.call('HSET', key, 'fence', fence, 'o:' .. heir, '1', 'h:' .. heir, hold,
            'writer_waiters', waiting)
    else
        redis.call('HDEL', key, 'h:' .. handle, 'w:' .. heir, 'o:' .. handle, 'writer_waiters')
        redis.call('HSET', key, 'fence', fence, 'o:' .. heir, '1', 'h:' .. heir, hold)
    end
    local at = string.format('%.0f', math.ceil((latest + 3600000000) / 1000))
    redis.call('PEXPIREAT', key, at)
    redis.call('PEXPIREAT', due_key, at)
    if next then redis.call('PEXPIREAT', queue, at) end
    -- Protected, as in store.lua.
    local channel = string.match(key, '^[^{}]+:')
    local client = string.sub(heir, 1, 32)
    if watch and string.sub(next, 1, 32) == client then line, watch = line .. '\n' .. watch, nil end
    redis.pcall('PUBLISH', channel .. client, line)
    if watch then redis.pcall('PUBLISH', channel .. string.sub(next, 1, 32), watch) end
    return { 'released', lk.now, 0, 0 }
end

local record, mode = read_record()
local released = record and (release_sole(record) or hand_over(record, mode))
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
