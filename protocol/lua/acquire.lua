-- acquire: takes the lock, or queues, or answers busy. SPEC 10.2.
-- KEYS  the four keys of the lock (SPEC 11.1)
-- ARGV  handle req fence mode wait lease_ms policy floor owner group who; or these as one string, with
--       a NUL after each except the last (SPEC 11.5). The short paths take only the string, because each
--       argument costs 1,150 instructions.
-- Reply granted time fence ms flags · queued time place ms · busy time ms · deadlock time ·
--       not-held time · stale time
--@include clock.lua

-- The short paths: the arguments are valid, and either the lock is free, or a writer must wait behind
-- others. All other requests take the long path below, which also reports faults. The short paths come
-- first, the most common case before the others, because creating the functions of the long path costs
-- more than all of this. The most common case is not in a function, because a function costs too.
local key, packed = KEYS[1], #ARGV == 1 and ARGV[1] or ''
local handle, req, mode, wait, lease_ms, policy, floor, owner, group, who = string.match(packed,
    '^([0-9a-f]+%-[0-9a-f]+)%z([1-9]%d*)%z0%z(%a+)%z([01])%z([1-9]%d%d+)%z([%a-]+)%z(%d+)%z'
    .. '([^%z]*)%z([^%z]*)%z([^%z]*)$')

-- The error of a full server, in the same words for all versions of the server.
local function refused(fault)
    local text = type(fault) == 'table' and fault.err or fault
    return { err = string.match(text, 'OOM .*') or text }
end

local plain = handle and #KEYS == 4 and #handle == 45 and string.byte(handle, 33) == 45 and #req < 16
    and #lease_ms < 9 and #now_text == 16 and (floor == '0' or (#floor == 16 and floor <= now_text))
    and (mode == 'read' or mode == 'write') and #owner <= 128 and #group <= 64 and #who <= 255
    and #key <= 512 and KEYS[2] == key .. ':d' and KEYS[3] == key .. ':r' and KEYS[4] == key .. ':w'
    and string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$') and lease_ms + 0 <= 86400000
    and (policy == 'fair' and '0' or policy == 'phase-fair' and '2' or policy == 'prefer-writer' and '4'
        or policy == 'prefer-reader' and '6')

-- plain: the flags of a grant if a short path may serve this request; otherwise nil or false.
-- sole: the value of the key if it is a string, false if there is no key, a table if it is a hash.
local sole, texts
if plain then
    sole, texts = redis.pcall('GET', key), '0 0 ' .. who
    if owner ~= '' or group ~= '' then
        texts = #owner .. ' ' .. #group .. ' ' .. owner .. group .. who
    end
end
--@include expiry.lua
--@include entry.lua
if sole == false then
    local token, due = now_text, now_text + lease_ms * 1000
    if floor == now_text then token = digits(now_text + 1) end
    local stored = redis.pcall('SET', key, with_entry((mode == 'read' and 'ar' or 'aw') .. plain .. '0 '
        .. token .. ' ', digits(due), now_text, handle, req, '0', texts), 'PXAT',
        expiry_ms(due, mode == 'write'))
    if stored.err then return refused(stored) end
    return 'granted ' .. now_text .. ' ' .. token .. ' ' .. lease_ms .. ' ' .. plain
end

--@include sole.lua

-- There is one writer, and few writers wait: the whole lock is one string. SPEC 3.3, 5.4, 5.5.
if type(sole) == 'string' and string.find(sole, '^[ahc]w[0246]')
    and string.find(sole, '^%d+ %d+ 0 ', 106) and not string.find(sole, handle, 23, true)
    and owner == '' and (floor == '0' or floor <= string.sub(sole, 6, 21)) then
    local place = string.byte(sole, 4) - 47
    local earliest, latest = entries_due(sole, 23)
    if wait == '0' and earliest > now_text then
        return 'busy ' .. now_text .. string.format(' %d', math.ceil((earliest - now_text) / 1000))
    end
    if mode == 'write' and place <= 8 and earliest > now_text then
        local due = digits(now_text + math.min(lease_ms, 10000) * 1000)
        if due < earliest then earliest = due end
        sole = with_entry(string.sub(sole, 1, 3) .. string.char(place + 48) .. string.sub(sole, 5), due,
            now_text, handle, req, lease_ms, texts)
        local stored
        if due > latest then
            stored = redis.pcall('SET', key, sole, 'PXAT', expiry_ms(due, true))
        else
            stored = redis.pcall('SET', key, sole, 'KEEPTTL')
        end
        if stored.err then return refused(stored) end
        return 'queued ' .. now_text
            .. string.format(' %d %d', place, math.ceil((earliest - now_text) / 1000))
    end
end

-- Queues a writer that has no hold and no waiter, and whose owner has no hold. Other owners hold the
-- lock, and only writers wait. SPEC 3.3, 5.4, 5.5.
local function queue_writer()
    local due_key, queue, now = KEYS[2], KEYS[4], tonumber(now_text)
    local v = redis.pcall('HMGET', key, 'owners', 'mark', 'up', 'reader_waiters', 'h:' .. handle,
        'w:' .. handle, 'o:' .. (owner ~= '' and owner or handle), 'writer_waiters', 'write_holds', 'ticket', 'floor')
    if not v[1] or v[2] or v[3] or v[4] or v[5] or v[6] or v[7] then return end
    local run_out = redis.pcall('ZRANGEBYSCORE', due_key, '-' .. now_text, now_text, 'LIMIT', '0', '1')
    if run_out.err or run_out[1] then return end
    local head = redis.pcall('ZRANGE', queue, '0', '0')
    if head.err then return end

    local waiting, ticket = (v[8] or 0) + 1, (v[10] or 0) + 1
    local due = digits(now + math.min(lease_ms, 10000) * 1000)
    local added = redis.pcall('ZADD', due_key, '-' .. due, 'w:' .. handle)
    if type(added) == 'table' then return refused(added) end
    redis.call('ZADD', queue, ticket, handle)
    local fields = { 'writer_waiters', waiting, 'ticket', ticket, 'w:' .. handle,
        table.concat({ 'write', ticket, lease_ms * 1000, req, now_text, texts }, ' ') }
    if tonumber(floor) > tonumber(v[11] or 0) then fields[7], fields[8] = 'floor', floor end
    redis.call('HSET', key, unpack(fields))
    -- The latest deadlines are at the ends of the set, the earliest in the middle (lock.lua).
    local middle = redis.call('ZRANGE', due_key, waiting - 1, waiting, 'WITHSCORES')
    local latest = math.max(tonumber(redis.call('ZRANGE', due_key, '-1', '-1', 'WITHSCORES')[2]),
        -redis.call('ZRANGE', due_key, '0', '0', 'WITHSCORES')[2])
    local at = expiry_ms(latest, v[9])
    redis.call('PEXPIREAT', key, at)
    redis.call('PEXPIREAT', due_key, at)
    redis.call('PEXPIREAT', queue, at)
    return 'queued ' .. now_text .. string.format(' %d %d', waiting,
        math.ceil((math.min(-middle[2], tonumber(middle[4])) - now) / 1000))
end

local queued = type(sole) == 'table' and mode == 'write' and wait == '1' and queue_writer()
if queued then return queued end
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

-- A protected call, because a full server may refuse the first write. Nothing has changed then.
lk.may_be_refused = true -- see store.lua
lk.unpack_arguments()
local done, reply = pcall(lk.run, { 'handle', 'req', 'fence', 'mode', 'wait', 'lease_ms', 'policy',
    'floor', 'owner', 'group', 'who' }, decide)
if not done then return refused(reply) end
return reply
