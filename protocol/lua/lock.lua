-- One lock: loaded by `open`, changed in memory, written back by `finish`. Deadlines and tickets are not kept in memory but
-- changed in their sorted sets at once.
--
-- A hash has one of three shapes:
--   bare  nobody holds or waits: there is no hash, or one with the mark (fence, mark, mark_until)
--   sole  one hold and no waiter: policy, fence, sole (whose), due (its deadline), h:<handle>, and no sorted set: this is what makes an
--         uncontended lock cheap. What the counts would be follows from the one hold.
--   full  all fields, o:<owner> (holds of an owner), g:<group> (read holds of a group), and the sorted sets
-- A life that has become full stays so.

lk.HOUR = 3600000000

-- In lk, of the lock that is open:
--   key, due_key, reader_key, writer_key
--   lock                        its fields, and: shape, sole (the one hold), run_out (members of :d)
--   was                         the fields as they stand in the hash
--   holds, waiters              records by handle; false: there is none
--   owner_counts, group_counts  read through owner_count and group_count
--   counts                      those of the full shape that have changed, by field
--   gone                        fields to delete
--   heads                       first handle and ticket of a queue, until it changes
--   changed                     whether there is anything to write

function lk.type_error(key)
    return 'LKTYPE ' .. key .. ': holds another type of value than this lock'
end

local function open_sole(handle, text, due)
    local lock, hold = lk.lock, lk.hold_read(handle, text)
    lk.was.sole, lk.was.due, hold.due = handle, due, due
    lk.holds[handle], lk.owner_counts[hold.owner] = hold, 1
    lock.shape, lock.sole, lock.owners = 'sole', hold, 1
    if hold.reads > 0 then
        lock.read_holds, lock.group, lk.group_counts[hold.group] = 1, hold.group, 1
    end
    lock.write_holds = hold.writes > 0 and 1 or 0
    lock.phase = hold.writes > 0 and 'write' or 'read'
end

-- Returns the error if a key holds something else. Nothing has been changed then.
function lk.open(at, handle, owner, group)
    local key = KEYS[at]
    lk.key, lk.due_key, lk.reader_key, lk.writer_key = key, KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]
    local v = redis.pcall('HMGET', key, 'fence', 'policy', 'sole', 'due', 'mark', 'mark_until', 'group', 'phase', 'floor',
        'ticket', 'up', 'owners', 'read_holds', 'write_holds', 'reader_waiters', 'writer_waiters', 'h:' .. handle,
        'w:' .. handle, 'o:' .. owner, 'g:' .. group)
    if v.err then return lk.type_error(key) end
    lk.holds, lk.waiters, lk.owner_counts, lk.group_counts = {}, {}, {}, {}
    lk.counts, lk.gone, lk.heads, lk.changed = {}, {}, {}, false
    local was = {
        fence = tonumber(v[1]), policy = v[2] or nil, mark = tonumber(v[5]), mark_until = tonumber(v[6]),
        group = v[7] or nil, phase = v[8] or nil, floor = tonumber(v[9]), ticket = tonumber(v[10]), up = v[11] or nil,
        owners = tonumber(v[12]), read_holds = tonumber(v[13]), write_holds = tonumber(v[14]),
        reader_waiters = tonumber(v[15]), writer_waiters = tonumber(v[16]),
    }
    local lock = {
        shape = 'bare', fence = was.fence or 0, policy = was.policy, mark = was.mark, mark_until = was.mark_until,
        group = was.group, phase = was.phase, floor = was.floor or 0, ticket = was.ticket or 0, up = was.up,
        owners = was.owners or 0, read_holds = was.read_holds or 0, write_holds = was.write_holds or 0,
        reader_waiters = was.reader_waiters or 0, writer_waiters = was.writer_waiters or 0,
    }
    lk.was, lk.lock = was, lock
    if v[3] then
        open_sole(v[3], v[3] == handle and v[17] or redis.call('HGET', key, 'h:' .. v[3]), tonumber(v[4]))
    elseif was.owners then
        lock.shape = 'full'
        lk.holds[handle] = v[17] and lk.hold_read(handle, v[17])
        lk.waiters[handle] = v[18] and lk.waiter_read(handle, v[18])
        lk.owner_counts[owner], lk.group_counts[group] = tonumber(v[19]) or 0, tonumber(v[20]) or 0
        lock.run_out = redis.pcall('ZRANGEBYSCORE', lk.due_key, '-inf', lk.now)
        if lock.run_out.err then return lk.type_error(lk.due_key) end
    elseif not was.fence and redis.call('EXISTS', key) == 1 then
        return lk.type_error(key) -- somebody else's hash
    end
end

function lk.hold_of(handle)
    local lock = lk.lock
    local hold = lk.holds[handle]
    if hold == nil then
        local text = lock.shape == 'full' and redis.call('HGET', lk.key, 'h:' .. handle)
        hold = text and lk.hold_read(handle, text)
        lk.holds[handle] = hold
    end
    return hold
end

function lk.waiter_of(handle)
    local lock = lk.lock
    local waiter = lk.waiters[handle]
    if waiter == nil then
        local text = lock.shape == 'full' and redis.call('HGET', lk.key, 'w:' .. handle)
        waiter = text and lk.waiter_read(handle, text)
        lk.waiters[handle] = waiter
    end
    return waiter
end

function lk.owner_count(owner)
    local lock = lk.lock
    local count = lk.owner_counts[owner]
    if not count then
        count = lock.shape == 'full' and tonumber(redis.call('HGET', lk.key, 'o:' .. owner)) or 0
        lk.owner_counts[owner] = count
    end
    return count
end

function lk.group_count(group)
    local lock = lk.lock
    local count = lk.group_counts[group]
    if not count then
        count = lock.shape == 'full' and tonumber(redis.call('HGET', lk.key, 'g:' .. group)) or 0
        lk.group_counts[group] = count
    end
    return count
end

function lk.nobody()
    local lock = lk.lock
    return lock.owners == 0 and lock.reader_waiters == 0 and lock.writer_waiters == 0 and not lock.up
end

-- SPEC 1.7, 7.2: what a life leaves behind.
function lk.end_life()
    local lock = lk.lock
    if not lk.nobody() then return end
    lock.policy, lock.phase, lock.group, lock.floor, lock.ticket = nil, nil, nil, 0, 0
    if not lock.mark then lock.fence = 0 end
end

function lk.hold_due(hold)
    if not hold.due then hold.due = tonumber(redis.call('ZSCORE', lk.due_key, 'h:' .. hold.handle)) end
    return hold.due
end

-- SPEC 5.1: never earlier than it was.
function lk.hold_extend(hold, due)
    local lock = lk.lock
    lk.changed = true
    hold.due = math.max(hold.due or (lock.shape == 'full' and not hold.new and lk.hold_due(hold)) or 0, due)
    if lock.shape == 'full' then redis.call('ZADD', lk.due_key, hold.due, 'h:' .. hold.handle) end
end

-- Changes a hold's counts, and the lock's with them.
function lk.hold_count(hold, reads, writes)
    local lock = lk.lock
    local read, wrote, full = hold.reads > 0, hold.writes > 0, lock.shape == 'full'
    hold.reads, hold.writes = hold.reads + reads, hold.writes + writes
    local reading, writing = hold.reads > 0, hold.writes > 0
    if read ~= reading then
        local step = reading and 1 or -1
        local count = lk.group_count(hold.group) + step
        lock.read_holds, lk.group_counts[hold.group] = lock.read_holds + step, count
        if full then lk.counts['g:' .. hold.group] = count end
        if reading then lock.group = hold.group end
    end
    if wrote ~= writing then lock.write_holds = lock.write_holds + (writing and 1 or -1) end
    if (read or wrote) ~= (reading or writing) then
        local step = (reading or writing) and 1 or -1
        local count = lk.owner_count(hold.owner) + step
        lk.owner_counts[hold.owner] = count
        if full then lk.counts['o:' .. hold.owner] = count end
        if count == 0 or (count == 1 and step == 1) then lock.owners = lock.owners + step end
    end
    hold.dirty, lk.changed = true, true
end

function lk.hold_remove(hold)
    local lock = lk.lock
    lk.hold_count(hold, -hold.reads, -hold.writes)
    lk.holds[hold.handle] = false
    lk.gone[#lk.gone + 1] = 'h:' .. hold.handle
    if lock.shape == 'full' then
        redis.call('ZREM', lk.due_key, 'h:' .. hold.handle)
    else
        lock.shape, lock.sole = 'bare', nil
    end
end

function lk.waiter_remove(waiter)
    local lock = lk.lock
    local handle = waiter.handle
    if lock.up == handle then
        lock.up = nil
    elseif waiter.mode == 'read' then
        redis.call('ZREM', lk.reader_key, handle)
        lock.reader_waiters, lk.heads[lk.reader_key] = lock.reader_waiters - 1, nil
    else
        redis.call('ZREM', lk.writer_key, handle)
        lock.writer_waiters, lk.heads[lk.writer_key] = lock.writer_waiters - 1, nil
    end
    redis.call('ZREM', lk.due_key, 'w:' .. handle)
    lk.waiters[handle] = false
    lk.gone[#lk.gone + 1] = 'w:' .. handle
    lk.changed = true
end

-- SPEC 5.4.
function lk.waiter_extend(waiter, lease)
    local due = lk.now + math.min(lease, 10000000)
    if not waiter.new then
        due = math.max(due, tonumber(redis.call('ZSCORE', lk.due_key, 'w:' .. waiter.handle)))
    end
    redis.call('ZADD', lk.due_key, due, 'w:' .. waiter.handle)
    lk.changed = true
end

function lk.waiter_enqueue(waiter)
    local lock = lk.lock
    lock.ticket = lock.ticket + 1
    waiter.ticket, waiter.dirty, lk.changed = lock.ticket, true, true
    if waiter.mode == 'read' then
        redis.call('ZADD', lk.reader_key, waiter.ticket, waiter.handle)
        lock.reader_waiters, lk.heads[lk.reader_key] = lock.reader_waiters + 1, nil
    else
        redis.call('ZADD', lk.writer_key, waiter.ticket, waiter.handle)
        lock.writer_waiters, lk.heads[lk.writer_key] = lock.writer_waiters + 1, nil
    end
end

-- Gives a second hold or waiter the room that it needs. Returns the error if a key holds something else; what a lost hash left
-- in the sorted sets is nobody's.
function lk.spread()
    local lock = lk.lock
    if lock.shape == 'full' then return end
    for _, set in ipairs({ lk.due_key, lk.reader_key, lk.writer_key }) do
        local kind = redis.call('TYPE', set).ok
        if kind ~= 'zset' and kind ~= 'none' then return lk.type_error(set) end
    end
    redis.call('DEL', lk.due_key, lk.reader_key, lk.writer_key)
    lock.shape = 'full'
    local hold = lock.sole
    if hold then
        redis.call('ZADD', lk.due_key, hold.due, 'h:' .. hold.handle)
        lk.counts['o:' .. hold.owner] = 1
        if hold.reads > 0 then lk.counts['g:' .. hold.group] = 1 end
        lock.sole = nil
    end
end

-- The ms to the earliest deadline of any hold or waiter.
function lk.earliest_ms()
    local lock = lk.lock
    local due = lock.sole and lock.sole.due
        or tonumber(redis.call('ZRANGE', lk.due_key, 0, 0, 'WITHSCORES')[2])
    return math.ceil((due - lk.now) / 1000)
end

-- SPEC 7.3.
function lk.expires_ms()
    local lock = lk.lock
    local due = lock.sole and lock.sole.due
        or tonumber(redis.call('ZREVRANGE', lk.due_key, 0, 0, 'WITHSCORES')[2])
    if lock.mark or lock.write_holds > 0 then due = due + lk.HOUR end
    if lock.mark then due = math.max(due, lock.mark_until) end
    return math.ceil(due / 1000)
end

-- unpack has room for some thousand values only.
function lk.call_with(command, words)
    for at = 1, #words, 1000 do
        redis.call(command, lk.key, unpack(words, at, math.min(at + 999, #words)))
    end
end

lk.FIELDS = { 'fence', 'policy', 'sole', 'due', 'mark', 'mark_until', 'group', 'phase', 'floor', 'ticket', 'up',
    'owners', 'read_holds', 'write_holds', 'reader_waiters', 'writer_waiters' }

local function some(number)
    return number > 0 and number or nil
end

-- The lock's fields as they should stand in the hash; what is 0 or nothing is absent.
function lk.wanted()
    local lock = lk.lock
    local want = { fence = lock.fence, policy = lock.policy, mark = lock.mark, mark_until = lock.mark_until }
    local hold = lock.sole
    if hold then
        want.sole, want.due = hold.handle, hold.due
        if hold.reads == 0 then want.group = lock.group end
    else
        want.group, want.phase, want.up, want.owners = lock.group, lock.phase, lock.up, lock.owners
        want.floor, want.ticket = some(lock.floor), some(lock.ticket)
        want.read_holds, want.write_holds = some(lock.read_holds), some(lock.write_holds)
        want.reader_waiters, want.writer_waiters = some(lock.reader_waiters), some(lock.writer_waiters)
    end
    return want
end

function lk.store()
    local lock = lk.lock
    local words, want = {}, lk.wanted()
    for _, name in ipairs(lk.FIELDS) do
        local value = want[name]
        if value ~= lk.was[name] then
            if value then
                words[#words + 1] = name
                words[#words + 1] = value
            else
                lk.gone[#lk.gone + 1] = name
            end
        end
    end
    for handle, hold in pairs(lk.holds) do
        if hold and hold.dirty then
            words[#words + 1] = 'h:' .. handle
            words[#words + 1] = lk.hold_write(hold)
        end
    end
    for handle, waiter in pairs(lk.waiters) do
        if waiter and waiter.dirty then
            words[#words + 1] = 'w:' .. handle
            words[#words + 1] = lk.waiter_write(waiter)
        end
    end
    for field, count in pairs(lk.counts) do
        if count > 0 then
            words[#words + 1] = field
            words[#words + 1] = count
        else
            lk.gone[#lk.gone + 1] = field
        end
    end
    -- What a full server allows (PEXPIREAT, HDEL) comes first; after it, it allows the rest. SPEC 11.3.
    local at = lk.expires_ms()
    if lk.was.fence then redis.call('PEXPIREAT', lk.key, at) end
    lk.call_with('HDEL', lk.gone)
    lk.call_with('HSET', words)
    if not lk.was.fence then redis.call('PEXPIREAT', lk.key, at) end
    if lock.shape == 'full' then
        redis.call('PEXPIREAT', lk.due_key, at)
        if lock.reader_waiters > 0 then redis.call('PEXPIREAT', lk.reader_key, at) end
        if lock.writer_waiters > 0 then redis.call('PEXPIREAT', lk.writer_key, at) end
    end
end

-- SPEC 7.1, 7.2.
function lk.clear()
    local lock = lk.lock
    if lock.shape == 'full' then
        redis.call('DEL', lk.key, lk.due_key, lk.reader_key, lk.writer_key)
    else
        redis.call('DEL', lk.key)
    end
    if lock.mark then
        redis.call('HSET', lk.key, 'fence', lock.fence, 'mark', lock.mark, 'mark_until', lock.mark_until)
        redis.call('PEXPIREAT', lk.key, math.ceil(lock.mark_until / 1000))
    end
end
