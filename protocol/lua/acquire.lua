-- acquire: take, or queue, or say busy. SPEC 10.2.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode wait lease_ms policy floor owner group who
-- Reply granted time fence ms flags · queued time place ms · busy time ms · deadlock time ·
--       not-held time · stale time
--@include lk.lua
--@include clock.lua
--@include line.lua

-- What a server says that is full, in the same words for all versions.
function lk.refused(fault)
    local text = type(fault) == 'table' and fault.err or fault
    return { err = string.match(text, 'OOM .*') or text }
end

-- The short ways: good arguments, and nobody has the lock, or a writer must wait behind others.
-- What these do not answer goes the long way below, which also says what is wrong. They stand here
-- because making the functions of the long way costs more than all of this.
lk.now = lk.clock()

-- What was asked for, if all of it is as it must be.
local function read_plain()
    if #KEYS ~= 4 or #ARGV ~= 11 then return end
    local key, handle, owner, group, who = KEYS[1], ARGV[1], ARGV[9], ARGV[10], ARGV[11]
    local client, req, mode, wait, lease, policy, floor = string.match(
        table.concat(ARGV, ' ', 1, 8),
        '^([0-9a-f]+)%-[0-9a-f]+ (%d+) 0 (%l+) ([01]) (%d+) ([%l-]+) (%d+)$')
    local flags = policy == 'fair' and 0 or policy == 'phase-fair' and 2
        or policy == 'prefer-writer' and 4 or policy == 'prefer-reader' and 6
    if not flags or #client ~= 32 or #handle ~= 45 or #req > 15 or tonumber(req) < 1
        or (mode ~= 'read' and mode ~= 'write') or #lease > 9 or tonumber(lease) < 100
        or tonumber(lease) > 86400000 or #floor > 16
        or (#floor == 16 and floor > '9007199254740992') or #owner > 128 or #group > 64
        or #who > 255 or string.find(owner .. group .. who, '%z') or #key > 512
        or not string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$') or KEYS[2] ~= key .. ':d'
        or KEYS[3] ~= key .. ':r' or KEYS[4] ~= key .. ':w'
        or tonumber(floor) > lk.now + 86400000000 then
        return
    end
    return req, mode, wait, lease, policy, floor, flags,
        table.concat({ #owner, #group, owner .. group .. who }, ' ')
end

local function take_free(req, mode, lease, policy, floor, flags, texts)
    local key, handle = KEYS[1], ARGV[1]
    local fence, due = math.max(lk.now, floor + 1), lk.now + lease * 1000
    local token = string.format('%.0f', fence)
    local since = fence == lk.now and token or string.format('%.0f', lk.now)
    local stored = redis.pcall('HSET', key, 'fence', token, 'policy', policy, 'sole', handle, 'due',
        due, 'h:' .. handle, table.concat({ mode == 'read' and '1 0' or '0 1', token, token, req,
            'a 0 0', since, texts }, ' '))
    if type(stored) == 'table' then return lk.refused(stored) end
    redis.call('PEXPIREAT', key, math.ceil((mode == 'write' and due + 3600000000 or due) / 1000))
    return { 'granted', lk.now, fence, tonumber(lease), flags }
end

local function expires_ms(latest)
    return string.format('%.0f', math.ceil((latest + 3600000000) / 1000))
end

-- Somebody writes, and few wait to write: all of it is in the hash (lock.lua). SPEC 3.3, 5.4, 5.5.
local function stand_in_line(req, mode, wait, lease, floor, texts)
    local key, handle = KEYS[1], ARGV[1]
    local v = redis.pcall('HMGET', key, 'sole', 'due', 'line', 'mark', 'floor')
    local sole, due, line = v[1], tonumber(v[2]), v[3]
    if not sole or v[4] or sole == handle or due <= lk.now or ARGV[9] ~= '' then return end
    local count, earliest, latest = 0, due, due
    if line then
        if string.find(line, handle, 1, true) then return end
        count, earliest, latest = lk.line_dues(line)
        earliest, latest = math.min(earliest, due), math.max(latest, due)
        if earliest <= lk.now then return end
    elseif not string.find(redis.call('HGET', key, 'h:' .. sole),
        '^0 %d+ %d+ %d+ %d+ %a %d+ %d %d+ 0 ') then
        return
    end
    if wait == '0' then return { 'busy', lk.now, math.ceil((earliest - lk.now) / 1000) } end
    if mode == 'read' or count == lk.LINE_MOST then return end

    local entry = table.concat({ handle, lease * 1000, req, string.format('%.0f', lk.now), texts },
        ' ')
    due = lk.now + math.min(lease * 1000, 10000000)
    local fields = { 'line', (line or '') .. string.format('%.0f %d ', due, #entry) .. entry }
    if tonumber(floor) > tonumber(v[5] or 0) then
        fields[3], fields[4] = 'floor', string.format('%.0f', floor)
    end
    local stored = redis.pcall('HSET', key, unpack(fields))
    if type(stored) == 'table' then return lk.refused(stored) end
    redis.call('PEXPIREAT', key, expires_ms(math.max(latest, due)))
    return { 'queued', lk.now, count + 1,
        math.ceil((math.min(earliest, due) - lk.now) / 1000) }
end

-- A writer without anything here comes behind other owners' holds, and behind writers only: SPEC
-- 3.3, 5.4, 5.5.
local function queue_writer(req, lease, floor, texts)
    local key, due_key, queue, handle = KEYS[1], KEYS[2], KEYS[4], ARGV[1]
    local owner = ARGV[9] ~= '' and ARGV[9] or handle
    local v = redis.pcall('HMGET', key, 'owners', 'mark', 'up', 'reader_waiters', 'h:' .. handle,
        'w:' .. handle, 'o:' .. owner, 'writer_waiters', 'write_holds', 'ticket', 'floor')
    if not v[1] or v[2] or v[3] or v[4] or v[5] or v[6] or v[7] then return end
    local now = string.format('%.0f', lk.now)
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now, now, 'LIMIT', '0', '1')
    if run_out.err or run_out[1] then return end
    local head = redis.pcall('ZRANGE', queue, '0', '0')
    if head.err then return end

    local waiting, ticket = (v[8] or 0) + 1, (v[10] or 0) + 1
    local due = string.format('%.0f', lk.now + math.min(lease * 1000, 10000000))
    local added = redis.pcall('ZADD', due_key, '-' .. due, 'w:' .. handle)
    if type(added) == 'table' then return lk.refused(added) end
    redis.call('ZADD', queue, ticket, handle)
    local fields = { 'writer_waiters', waiting, 'ticket', ticket, 'w:' .. handle,
        table.concat({ 'write', ticket, lease * 1000, req, now, texts }, ' ') }
    if tonumber(floor) > tonumber(v[11] or 0) then
        fields[7], fields[8] = 'floor', string.format('%.0f', floor)
    end
    redis.call('HSET', key, unpack(fields))
    -- The latest deadlines stand at the ends, the earliest in the middle (lock.lua).
    local middle = redis.call('ZRANGE', due_key, waiting - 1, waiting, 'WITHSCORES')
    local latest = math.max(tonumber(redis.call('ZRANGE', due_key, '-1', '-1', 'WITHSCORES')[2]),
        -redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')[2])
    local at = string.format('%.0f', math.ceil((v[9] and latest + 3600000000 or latest) / 1000))
    redis.call('PEXPIREAT', key, at)
    redis.call('PEXPIREAT', due_key, at)
    redis.call('PEXPIREAT', queue, at)
    return { 'queued', lk.now, waiting,
        math.ceil((math.min(-middle[2], tonumber(middle[4])) - lk.now) / 1000) }
end

local req, mode, wait, lease, policy, floor, flags, texts = read_plain()
local answered
local keys = req and redis.call('EXISTS', unpack(KEYS))
if keys == 0 then
    answered = take_free(req, mode, lease, policy, floor, flags, texts)
elseif keys == 1 then
    answered = stand_in_line(req, mode, wait, lease, floor, texts)
elseif req and mode == 'write' and wait == '1' then
    answered = queue_writer(req, lease, floor, texts)
end
if answered then return answered end
--@include prelude.lua

-- SPEC 9.2: the answer to a request that has been answered before.
local function answer_again(request, hold, waiter)
    if waiter and request.req == waiter.req then
        lk.waiter_extend(waiter, request.lease)
        return lk.queued(waiter)
    end
    if (hold and request.req == hold.granted_for)
        or lk.seen(request, hold, waiter, 'a') == 'again' then
        lk.hold_claim(hold, request.lease)
        return lk.granted(hold)
    end
end

-- SPEC 9.5.
local function replace(hold, waiter)
    if waiter then lk.waiter_remove(waiter) end
    if hold then
        lk.drop_hold(hold, lk.now)
        lk.drop_upgrade()
    end
    lk.settle()
end

local function take(request, hold)
    local lock, mode = lk.lock, request.mode
    local begins_life = not lock.policy
    if hold and (mode == 'read' and hold.reads or hold.writes) == 65535 then
        return lk.too_deep()
    end
    if begins_life then
        lock.policy = request.policy -- SPEC 3.1
    elseif not hold then
        local wrong = lk.spread()
        if wrong then return { err = wrong } end
    end
    if not hold then
        hold = lk.hold_new(request.handle, request.owner, request.group, request.who)
        if lock.shape == 'bare' then lock.shape, lock.sole = 'sole', hold end
    end
    lk.hold_claim(hold, request.lease)
    lk.hold_add(hold, mode, begins_life, request.floor)
    hold.last, hold.op = request.req, 'a'
    lk.update_phase()
    return lk.granted(hold)
end

local function queue(request, upgrades)
    local wrong = lk.spread()
    if wrong then return { err = wrong } end
    local waiter = {
        handle = request.handle, owner = request.owner, group = request.group, who = request.who,
        mode = request.mode, ticket = 0, lease = request.lease, req = request.req, since = lk.now,
        dirty = true,
    }
    lk.waiters[request.handle] = waiter
    lk.waiter_extend(waiter, request.lease)
    if upgrades then
        lk.lock.up = request.handle
    else
        lk.waiter_enqueue(waiter)
    end
    lk.lock.floor = math.max(lk.lock.floor, request.floor) -- SPEC 8.1
    return lk.queued(waiter)
end

local function decide(request, hold, waiter)
    local lock, mode = lk.lock, request.mode
    local again, told = answer_again(request, hold, waiter)
    if again then return again, told end
    if lk.seen(request, hold, waiter, 'a') then return { 'stale', lk.now } end
    if request.fence ~= 0 then
        if not lk.means(hold, request.fence) then return { 'not-held', lk.now } end
        request.owner, request.group = hold.owner, hold.group -- SPEC 3.4
    elseif hold or waiter then
        replace(hold, waiter)
        hold = nil
    end
    local holds = lk.count('o:' .. request.owner) > 0
    local nobody_before = not lock.up and lock.reader_waiters == 0
        and (lock.writer_waiters == 0 or lock.policy == 'prefer-reader')
    if lk.compatible(mode, request.owner, request.group) -- SPEC 3.2, 3.3, 3.4
        and (mode == 'write' or holds or nobody_before) then
        return take(request, hold)
    end
    local upgrades = mode == 'write' and holds -- SPEC 4.1
    if upgrades and lock.up then return { 'deadlock', lk.now } end -- SPEC 4.4
    if request.wait == 0 then return { 'busy', lk.now, lk.earliest_ms() } end
    return queue(request, upgrades)
end

-- Protected for the sake of its first write, which a full server refuses: nothing has changed then.
lk.may_be_refused = true -- see store.lua
local done, reply = pcall(lk.run, { 'handle', 'req', 'fence', 'mode', 'wait', 'lease_ms', 'policy',
    'floor', 'owner', 'group', 'who' }, decide)
if not done then return lk.refused(reply) end
return reply
