-- One lock: `open` loads it, operations change it in memory, `finish` (store.lua) writes it back.
-- Deadlines and tickets are not kept in memory; they are changed directly in their sorted sets.
--
-- A lock has one of four shapes:
--   bare  nobody holds or waits: there is no key, or only a hash with the mark (fence, mark, mark_until)
--   sole  one hold and no waiter, in one string (sole.lua). This shape makes an uncontended lock cheap.
--         The counts follow from the hold, and the lock's fence is the hold's fence.
--   few   a sole hold that writes, and up to 8 waiting writers, in the same string; no floor is above
--         the fence. This shape makes a mutex cheap. Only the short paths make it; the long path unfolds
--         it first.
--   full  a hash with all fields, o:<owner> (holds of an owner), g:<group> (read holds of a group), and
--         the sorted sets
-- A full lock stays full until nobody holds or waits, or until a writer hands it to the last waiter.
--
-- In the sorted set of deadlines, the deadline of a waiter is negative. So the next deadlines of holds and of
-- waiters are in the middle of the set, and the last ones at its ends.
--
-- These fields of lk describe the open lock:
--   key, due_key, reader_key, writer_key
--   lock             its fields, and: shape, sole (the one hold), line (the waiters of `few`), run_out
--                    (expired members of due_key)
--   was              the fields as they are in the hash; was.text: the string, if there is no hash
--   holds, waiters   records by handle; false: there is none
--   counts           of owners (o:<owner>) and groups (g:<group>), read through `count`
--   recounted        the counts that have changed
--   gone             fields to delete
--   heads            first handle and ticket of a queue, until it changes
--   changed          whether there is anything to write
--   unsettled        whether a waiter may have to be granted

function lk.type_error(key)
    return 'LKTYPE ' .. key .. ': holds another type of value than this lock'
end

-- Returns an error if the key of a queue holds another type of value.
function lk.check_queue(mode)
    local key = lk.queue_key(mode)
    local first = redis.pcall('ZRANGE', key, '0', '0', 'WITHSCORES')
    if first.err then return lk.type_error(key) end
    if first[1] then lk.heads[mode] = first end
end

function lk.find_run_out()
    local now = digits(lk.now)
    return redis.pcall('ZRANGEBYSCORE', lk.due_key, '-' .. now, now)
end

-- Returns whether the string is a sole hold.
function lk.open_sole(text)
    local hold, fields, entries = lk.sole_read(text)
    if not hold then return false end
    local lock = lk.lock
    lk.holds[hold.handle], lk.counts['o:' .. hold.owner] = hold, 1
    lock.shape, lock.sole, lock.owners = 'sole', hold, 1
    lock.fence, lock.policy, lock.group = fields.fence, fields.policy, fields.group
    lock.mark, lock.mark_until = fields.mark, fields.mark_until
    if hold.reads > 0 then lock.read_holds, lk.counts['g:' .. hold.group] = 1, 1 end
    lock.write_holds = hold.writes > 0 and 1 or 0
    lock.phase = hold.writes > 0 and 'write' or 'read'
    lk.was.text = text
    if entries ~= '' then lk.open_few(entries) end
    return true
end

function lk.open_few(entries)
    local lock = lk.lock
    lock.shape, lock.line = 'few', lk.entries_read(entries)
    lock.writer_waiters, lock.ticket = #lock.line, #lock.line
    for _, waiter in ipairs(lock.line) do lk.waiters[waiter.handle] = waiter end
end

-- Returns an error if a key holds another type of value. Nothing has been changed then. `may_queue` is
-- the mode of a request that may have to wait.
function lk.open(at, handle, owner, group, may_queue)
    local key = KEYS[at]
    lk.key, lk.due_key, lk.reader_key, lk.writer_key = key, KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]
    local v = redis.pcall('HMGET', key, 'fence', 'policy', 'mark', 'mark_until', 'group', 'phase',
        'floor', 'ticket', 'up', 'owners', 'read_holds', 'write_holds', 'reader_waiters',
        'writer_waiters', 'h:' .. handle, 'w:' .. handle, 'o:' .. owner, 'g:' .. group)
    local text = v.err and redis.pcall('GET', key)
    lk.holds, lk.waiters, lk.counts, lk.recounted = {}, {}, {}, {}
    lk.gone, lk.heads, lk.changed, lk.unsettled = {}, {}, false, false
    local was = {
        fence = tonumber(v[1]), policy = v[2] or nil, mark = tonumber(v[3]),
        mark_until = tonumber(v[4]), group = v[5] or nil, phase = v[6] or nil,
        floor = tonumber(v[7]), ticket = tonumber(v[8]), up = v[9] or nil,
        owners = tonumber(v[10]), read_holds = tonumber(v[11]), write_holds = tonumber(v[12]),
        reader_waiters = tonumber(v[13]), writer_waiters = tonumber(v[14]),
    }
    local lock = {
        shape = 'bare', fence = was.fence or 0, policy = was.policy, mark = was.mark,
        mark_until = was.mark_until, group = was.group, phase = was.phase, floor = was.floor or 0,
        ticket = was.ticket or 0, up = was.up, owners = was.owners or 0,
        read_holds = was.read_holds or 0, write_holds = was.write_holds or 0,
        reader_waiters = was.reader_waiters or 0, writer_waiters = was.writer_waiters or 0,
    }
    lk.was, lk.lock = was, lock
    if v.err and not string.find(v.err, 'WRONGTYPE') then return v.err end -- the rights to it
    if text then
        if type(text) ~= 'string' or not lk.open_sole(text) then return lk.type_error(key) end
    elseif was.owners then
        lock.shape = 'full'
        lk.holds[handle] = v[15] and lk.hold_read(handle, v[15])
        lk.waiters[handle] = v[16] and lk.waiter_read(handle, v[16])
        lk.counts['o:' .. owner] = tonumber(v[17]) or 0
        lk.counts['g:' .. group] = tonumber(v[18]) or 0
        lock.run_out = lk.find_run_out()
        if lock.run_out.err then return lk.type_error(lk.due_key) end
        return (lock.reader_waiters > 0 or may_queue == 'read') and lk.check_queue('read')
            or (lock.writer_waiters > 0 or lock.up or may_queue == 'write')
            and lk.check_queue('write') or nil
    elseif not was.fence and redis.call('EXISTS', key) == 1 then
        return lk.type_error(key) -- somebody else's hash
    end
end

-- Makes the lock full, so that it has room for a second hold or waiter. Returns an error if a key holds
-- another type of value. Sorted sets that exist before this belong to a hash that is lost; they are
-- deleted.
function lk.spread()
    local lock = lk.lock
    if lock.shape == 'full' then return end
    for _, set in ipairs({ lk.due_key, lk.reader_key, lk.writer_key }) do
        local kind = redis.call('TYPE', set).ok
        if kind ~= 'zset' and kind ~= 'none' then return lk.type_error(set) end
        if kind == 'zset' then redis.call('DEL', set) end
    end
    local hold = lock.sole
    redis.call('ZADD', lk.due_key, hold.due, 'h:' .. hold.handle)
    if lk.was.text then redis.call('DEL', lk.key) end
    lk.recounted['o:' .. hold.owner] = true
    if hold.reads > 0 then lk.recounted['g:' .. hold.group] = true end
    lock.shape, lock.sole, hold.dirty = 'full', nil, true
end

-- Turns the shape `few` into `full`. Returns an error if a key holds another type of value.
function lk.unfold()
    local lock, due_words, queue_words = lk.lock, {}, {}
    if lock.shape ~= 'few' then return end
    if not lk.may_be_refused then insist(lk.due_key) end
    local wrong = lk.spread()
    if wrong then return wrong end
    for _, waiter in ipairs(lock.line) do
        due_words[#due_words + 1], due_words[#due_words + 2] = -waiter.due, 'w:' .. waiter.handle
        queue_words[#queue_words + 1], queue_words[#queue_words + 2] = waiter.ticket, waiter.handle
        waiter.dirty = true
    end
    redis.call('ZADD', lk.due_key, unpack(due_words))
    redis.call('ZADD', lk.writer_key, unpack(queue_words))
    lock.line, lk.changed = nil, true
    lock.run_out = lk.find_run_out()
end

function lk.hold_of(handle)
    local hold = lk.holds[handle]
    if hold == nil then
        local text = lk.lock.shape == 'full' and redis.call('HGET', lk.key, 'h:' .. handle)
        hold = text and lk.hold_read(handle, text)
        lk.holds[handle] = hold
    end
    return hold
end

function lk.waiter_of(handle)
    local waiter = lk.waiters[handle]
    if waiter == nil then
        local text = lk.lock.shape == 'full' and redis.call('HGET', lk.key, 'w:' .. handle)
        waiter = text and lk.waiter_read(handle, text)
        lk.waiters[handle] = waiter
    end
    return waiter
end

function lk.count(field)
    local count = lk.counts[field]
    if not count then
        local some = lk.lock.shape == 'full' and lk.lock.owners > 0
        count = some and tonumber(redis.call('HGET', lk.key, field)) or 0
        lk.counts[field] = count
    end
    return count
end

function lk.recount(field, step)
    local count = lk.count(field) + step
    lk.counts[field], lk.recounted[field] = count, true
    return count
end

function lk.waiting()
    local lock = lk.lock
    return lock.reader_waiters + lock.writer_waiters + (lock.up and 1 or 0)
end

function lk.nobody()
    return lk.lock.owners == 0 and lk.waiting() == 0
end

function lk.hold_due(hold)
    if not hold.due then
        hold.due = tonumber(redis.call('ZSCORE', lk.due_key, 'h:' .. hold.handle))
    end
    return hold.due
end

-- SPEC 5.1: never to an earlier deadline than before.
function lk.hold_extend(hold, due)
    if lk.lock.shape ~= 'full' then
        hold.due = math.max(hold.due or 0, due)
    elseif redis.call('ZADD', lk.due_key, 'GT', 'CH', due, 'h:' .. hold.handle) == 1 then
        hold.due = due
    end
    lk.changed = true
end

-- SPEC 5.1, 5.3: the client of the hold has answered.
function lk.hold_claim(hold, lease)
    if hold.provisional == 1 then hold.provisional, hold.dirty = 0, true end
    lk.hold_extend(hold, lk.now + lease)
end

-- Changes the counts of a hold, and the counts of the lock with them.
function lk.hold_count(hold, reads, writes)
    local lock = lk.lock
    local read, wrote = hold.reads > 0, hold.writes > 0
    hold.reads, hold.writes = hold.reads + reads, hold.writes + writes
    local reading, writing = hold.reads > 0, hold.writes > 0
    if read ~= reading then
        local step = reading and 1 or -1
        lock.read_holds = lock.read_holds + step
        lk.recount('g:' .. hold.group, step)
        if reading then lock.group = hold.group end
    end
    if wrote ~= writing then lock.write_holds = lock.write_holds + (writing and 1 or -1) end
    if (read or wrote) ~= (reading or writing) then
        local step = (reading or writing) and 1 or -1
        local count = lk.recount('o:' .. hold.owner, step)
        if count == 0 or (count == 1 and step == 1) then lock.owners = lock.owners + step end
    end
    hold.dirty, lk.changed, lk.unsettled = true, true, true
end

function lk.hold_remove(hold)
    local lock = lk.lock
    lk.hold_count(hold, -hold.reads, -hold.writes)
    lk.holds[hold.handle] = false
    if lock.shape == 'full' then
        lk.gone[#lk.gone + 1] = 'h:' .. hold.handle
        redis.call('ZREM', lk.due_key, 'h:' .. hold.handle)
    else
        lock.shape, lock.sole = 'bare', nil
    end
end

function lk.queue_changed(mode, step)
    local lock = lk.lock
    local name = mode == 'read' and 'reader_waiters' or 'writer_waiters'
    lock[name] = lock[name] + step
    lk.heads[mode], lk.changed = nil, true
end

function lk.queue_key(mode)
    return mode == 'read' and lk.reader_key or lk.writer_key
end

function lk.waiter_remove(waiter)
    local handle = waiter.handle
    if lk.lock.up == handle then
        lk.lock.up, lk.changed = nil, true
    else
        redis.call('ZREM', lk.queue_key(waiter.mode), handle)
        lk.queue_changed(waiter.mode, -1)
    end
    redis.call('ZREM', lk.due_key, 'w:' .. handle)
    lk.waiters[handle] = false
    lk.gone[#lk.gone + 1] = 'w:' .. handle
    lk.unsettled = true
end

function lk.waiter_enqueue(waiter)
    lk.lock.ticket = lk.lock.ticket + 1
    waiter.ticket, waiter.dirty = lk.lock.ticket, true
    redis.call('ZADD', lk.queue_key(waiter.mode), waiter.ticket, waiter.handle)
    lk.queue_changed(waiter.mode, 1)
end

function lk.waiter_due(waiter)
    return -redis.call('ZSCORE', lk.due_key, 'w:' .. waiter.handle)
end

-- SPEC 5.4.
function lk.waiter_extend(waiter, lease)
    local due = lk.now + math.min(lease, 10000000)
    redis.call('ZADD', lk.due_key, 'LT', -due, 'w:' .. waiter.handle)
    lk.changed = true
end
