-- The end of every operation: writes the lock back, sets the expiry of all keys, sends the messages.

lk.FIELDS = {
    'fence', 'policy', 'mark', 'mark_until', 'group', 'phase', 'floor', 'ticket', 'up', 'owners',
    'read_holds', 'write_holds', 'reader_waiters', 'writer_waiters',
}

-- SPEC 5.5: the ms to the earliest deadline of any hold or waiter.
function lk.earliest_ms()
    local sole, waiting = lk.lock.sole, lk.waiting()
    local due = sole and sole.due
    if not sole then
        local middle = redis.call('ZRANGE', lk.due_key, math.max(waiting - 1, 0), waiting,
            'WITHSCORES')
        due = math.min(math.abs(middle[2]), math.abs(middle[4] or middle[2]))
    end
    return math.ceil((due - lk.now) / 1000)
end

function lk.latest_due()
    local sole = lk.lock.sole
    if sole then return sole.due end
    local due = tonumber(redis.call('ZRANGE', lk.due_key, '-1', '-1', 'WITHSCORES')[2])
    if lk.waiting() == 0 then return due end
    return math.max(due, -redis.call('ZRANGE', lk.due_key, '0', '0', 'WITHSCORES')[2])
end

function lk.expires_ms()
    local lock, due = lk.lock, lk.latest_due()
    local written = lock.mark or lock.write_holds > 0
    if lock.mark then due = math.max(due, lock.mark_until - lk.HOUR) end
    return expiry_ms(due, written)
end

-- unpack can return only a few thousand values.
function lk.call_with(command, words)
    for at = 1, #words, 1000 do
        redis.call(command, lk.key, unpack(words, at, math.min(at + 999, #words)))
    end
end

function lk.store_sole()
    local text, expires = lk.sole_write(lk.lock.sole), lk.expires_ms()
    if text == lk.was.text then return end
    if lk.may_be_refused then
        redis.call('SET', lk.key, text, 'PXAT', expires)
    else
        set(lk.key, lk.due_key, text, expires)
    end
end

function lk.store_full()
    local lock, was, gone, words = lk.lock, lk.was, lk.gone, {}
    local function put(field, value)
        if value then
            words[#words + 1], words[#words + 2] = field, value
        else
            gone[#gone + 1] = field
        end
    end
    for at = 1, #lk.FIELDS do
        local name = lk.FIELDS[at]
        local value = lock[name]
        if value == 0 then value = nil end -- what is 0 is absent from the hash
        if value ~= was[name] then put(name, value) end
    end
    for handle, hold in pairs(lk.holds) do
        if hold and hold.dirty then put('h:' .. handle, lk.hold_write(hold)) end
    end
    for handle, waiter in pairs(lk.waiters) do
        if waiter and waiter.dirty then put('w:' .. handle, lk.waiter_write(waiter)) end
    end
    for field in pairs(lk.recounted) do
        local count = lk.counts[field]
        put(field, count > 0 and count or nil)
    end
    if #gone == 0 and #words > 0 and not lk.may_be_refused then insist(lk.due_key) end
    lk.call_with('HDEL', gone)
    lk.call_with('HSET', words)
    -- This comes last: if the server stalled and the instant has passed, PEXPIREAT deletes the key.
    local at = lk.expires_ms()
    redis.call('PEXPIREAT', lk.key, at)
    redis.call('PEXPIREAT', lk.due_key, at)
    if lock.reader_waiters > 0 then redis.call('PEXPIREAT', lk.reader_key, at) end
    if lock.writer_waiters > 0 then redis.call('PEXPIREAT', lk.writer_key, at) end
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
        redis.call('HSET', lk.key, 'fence', lock.fence, 'mark', lock.mark, 'mark_until',
            lock.mark_until)
        redis.call('PEXPIREAT', lk.key, math.ceil(lock.mark_until / 1000))
    end
end

-- `answered`: the handle of the waiter whose place the operation's own answer tells (SPEC 5.5).
function lk.finish(answered)
    if not lk.changed then return end
    if lk.unsettled then lk.settle() end
    local first = lk.first_in_order()
    if first and first ~= answered and (lk.provisional or first ~= lk.first_before) then
        lk.tell(first, string.format('watch %s %.0f 0 %.0f %.0f 0', first, lk.waiter_of(first).req,
            lk.now, lk.earliest_ms()))
    end
    if lk.nobody() then
        lk.clear()
    elseif lk.lock.sole then
        lk.store_sole()
    else
        lk.store_full()
    end
    -- A protected call: if an ACL forbids the channel, the finished operation must not become an error.
    for _, client in ipairs(lk.told) do
        redis.pcall('PUBLISH', lk.prefix .. ':' .. client, table.concat(lk.told[client], '\n'))
    end
end
