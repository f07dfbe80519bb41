-- acquire: take, or queue, or say busy. SPEC 10.2.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode wait lease_ms policy floor owner group who
-- Reply granted time fence ms flags · queued time place ms · busy time ms · deadlock time ·
--       not-held time · stale time
--@include clock.lua
--@include expiry.lua

-- The short ways: good arguments, and nobody has the lock, or a writer must wait behind others.
-- What these do not answer goes the long way below, which also says what is wrong. They stand here,
-- each behind the one that is met more often, because making the functions of the long way costs
-- more than all of this.
local now, now_text = clock()

-- Whether all of what was asked for is as it must be: then the flags of a grant, the lease in µs, and
-- owner, group and who as in a record.
local function read_plain()
    local keys, handle, req, fence, mode, wait, lease, policy, floor, owner, group, who = KEYS,
        unpack(ARGV)
    local key = keys[1]
    if #keys ~= 4 or #ARGV ~= 11 or fence ~= '0' or #handle ~= 45 or #req > 15 or #lease > 8
        or (floor ~= '0' and (#floor ~= #now_text or floor > now_text))
        or (mode ~= 'read' and mode ~= 'write') or (wait ~= '0' and wait ~= '1')
        or string.sub(handle, 33, 33) ~= '-' or #owner > 128 or #group > 64 or #who > 255
        or #key > 512 or keys[2] ~= key .. ':d' or keys[3] ~= key .. ':r' or keys[4] ~= key .. ':w'
        or not string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$')
        or not string.find(handle .. ' ' .. req .. ' ' .. lease .. ' ' .. floor .. ' ' .. owner
            .. group .. who, '^[0-9a-f]+%-[0-9a-f]+ [1-9]%d* [1-9]%d%d+ %d+ [^%z]*$') then
        return
    end
    lease = tonumber(lease)
    if lease > 86400000 then return end
    local flags = policy == 'fair' and '0' or policy == 'phase-fair' and '2'
        or policy == 'prefer-writer' and '4' or policy == 'prefer-reader' and '6'
    if owner == '' and group == '' then return flags, lease * 1000, '0 0 ' .. who end
    return flags, lease * 1000, #owner .. ' ' .. #group .. ' ' .. owner .. group .. who
end

-- What a server says that is full, in the same words for all versions.
local function refused(fault)
    local text = type(fault) == 'table' and fault.err or fault
    return { err = string.match(text, 'OOM .*') or text }
end

local function take_free(flags, lease, texts)
    local key, mode = KEYS[1], ARGV[4]
    local fence, token, due = now, now_text, now + lease
    if ARGV[8] == now_text then
        fence = now + 1
        token = digits(fence)
    end
    local stored = redis.pcall('HSET', key, 'sole', ARGV[1] .. ' ' .. token .. ' ' .. flags
        .. (mode == 'read' and ' 0 1 0 ' or ' 0 0 1 ') .. digits(due) .. ' ' .. ARGV[2] .. ' ' .. token
        .. ' a 0 0 ' .. now_text .. ' ' .. string.format('%d ', #texts) .. texts)
    if type(stored) == 'table' then return refused(stored) end
    redis.call('PEXPIREAT', key, expiry_ms(due, mode == 'write'))
    return { 'granted', now, fence, lease / 1000, tonumber(flags) }
end

local flags, lease, texts = read_plain()
local free = flags and redis.call('EXISTS', KEYS[1]) == 0
if free then return take_free(flags, lease, texts) end
--@include line.lua

-- Somebody writes, and few wait to write: all of it is in one field (line.lua). SPEC 3.3, 5.4, 5.5.
local function stand_in_line()
    local key, handle = KEYS[1], ARGV[1]
    local sole = redis.pcall('HGET', key, 'sole')
    if type(sole) ~= 'string' or ARGV[9] ~= '' then return end
    local head, fence, waiting, tail, due, length, texts_at = string.match(sole,
        '^(%S+ (%d+) [0246] )(%d)() 0 %d+ (%d+) %d+ %d+ %a %d+ %d %d+ (%d+) ()0 ')
    due = tonumber(due)
    if not due or due <= now or (ARGV[8] ~= '0' and tonumber(ARGV[8]) > tonumber(fence))
        or string.find(sole, handle, 1, true) then
        return
    end
    local earliest, latest = due, due
    if waiting ~= '0' then
        earliest, latest = line_dues(string.sub(sole, texts_at + length))
        earliest, latest = math.min(earliest, due), math.max(latest, due)
        if earliest <= now then return end
    end
    if ARGV[5] == '0' then return { 'busy', now, math.ceil((earliest - now) / 1000) } end
    if ARGV[4] == 'read' or waiting == LINE_MOST then return end

    due = now + math.min(lease, 10000000)
    local place = string.byte(waiting) - 47
    local stored = redis.pcall('HSET', key, 'sole', head .. string.char(place + 48)
        .. string.sub(sole, tail) .. digits(due) .. string.format(' %d ', #texts) .. handle .. ' '
        .. ARGV[2] .. string.format(' %d ', lease) .. now_text .. ' ' .. texts)
    if type(stored) == 'table' then return refused(stored) end
    if due > latest then redis.call('PEXPIREAT', key, expiry_ms(due, true)) end
    return { 'queued', now, place, math.ceil((math.min(earliest, due) - now) / 1000) }
end

-- A writer without anything here comes behind other owners' holds, and behind writers only: SPEC
-- 3.3, 5.4, 5.5.
local function queue_writer()
    local key, due_key, queue, handle = KEYS[1], KEYS[2], KEYS[4], ARGV[1]
    local owner = ARGV[9] ~= '' and ARGV[9] or handle
    local v = redis.pcall('HMGET', key, 'owners', 'mark', 'up', 'reader_waiters', 'h:' .. handle,
        'w:' .. handle, 'o:' .. owner, 'writer_waiters', 'write_holds', 'ticket', 'floor')
    if not v[1] or v[2] or v[3] or v[4] or v[5] or v[6] or v[7] then return end
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now_text, now_text, 'LIMIT', '0', '1')
    if run_out.err or run_out[1] then return end
    local head = redis.pcall('ZRANGE', queue, '0', '0')
    if head.err then return end

    local waiting, ticket = (v[8] or 0) + 1, (v[10] or 0) + 1
    local due = digits(now + math.min(lease, 10000000))
    local added = redis.pcall('ZADD', due_key, '-' .. due, 'w:' .. handle)
    if type(added) == 'table' then return refused(added) end
    redis.call('ZADD', queue, ticket, handle)
    local fields = { 'writer_waiters', waiting, 'ticket', ticket, 'w:' .. handle,
        table.concat({ 'write', ticket, lease, ARGV[2], now_text, texts }, ' ') }
    if tonumber(ARGV[8]) > tonumber(v[11] or 0) then fields[7], fields[8] = 'floor', ARGV[8] end
    redis.call('HSET', key, unpack(fields))
    -- The latest deadlines stand at the ends, the earliest in the middle (lock.lua).
    local middle = redis.call('ZRANGE', due_key, waiting - 1, waiting, 'WITHSCORES')
    local latest = math.max(tonumber(redis.call('ZRANGE', due_key, '-1', '-1', 'WITHSCORES')[2]),
        -redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')[2])
    local at = expiry_ms(latest, v[9])
    redis.call('PEXPIREAT', key, at)
    redis.call('PEXPIREAT', due_key, at)
    redis.call('PEXPIREAT', queue, at)
    return { 'queued', now, waiting,
        math.ceil((math.min(-middle[2], tonumber(middle[4])) - now) / 1000) }
end

local answered = flags and stand_in_line()
if not answered and flags and ARGV[4] == 'write' and ARGV[5] == '1' then answered = queue_writer() end
if answered then return answered end
--@include prelude.lua
lk.now = now

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
if not done then return refused(reply) end
return reply
