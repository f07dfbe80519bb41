-- The frame of every operation: it drops what has expired, the lock settles, the operation does its own work,
-- the lock settles again and is written.

make_grant = function()
    --@include grant.lua
end,

make_queue = function()
    if not grant then lk.make_grant() end
    --@include queue.lua
end,

make_losses = function()
    if not queue then lk.make_queue() end
    --@include losses.lua
end,

-- SPEC 3.6.
phase_update = function()
    if lock[WRITE_HOLDS] > 0 then
        lock[PHASE] = WRITE
    elseif lock[HOLDS] > 0 then
        lock[PHASE] = READ
    end
end,

-- Opens the lock for an operation: SPEC 5.2. `value` is the value of the first key. Returns an error if there is one.
begin = function(key, index_key, value)
    local fault = lk.open(key, index_key, value)
    if fault then return fault end
    if lock[READERS] + lock[WRITERS] > 0 or lock[UPGRADE] ~= '' or lock[MISSES] > 0 then
        if not queue then lk.make_queue() end
        lock[FIRST] = queue.first()
    end
    if lock[EXPIRED] then
        if not losses then lk.make_losses() end
        losses.drop_expired()
        queue.settle()
    elseif lock[HOLDS] == 0 and lock[VALUE] and lock[MARK] == 0 and lock[LAST_FENCE] <= now then
        lk.life_end() -- SPEC 7.1: the clock has passed the fence
        lock[CHANGED] = true
    end
end,

-- Settles the lock, writes it, and sends the messages. `told` is the waiter whose place is in the answer, or nil
-- (SPEC 5.5). Returns an error if there is one; nothing has changed then.
complete = function(told)
    if not lock[CHANGED] then return lock[MOVED] and lk.save_due(lock[MOVED]) end
    if lock[READERS] + lock[WRITERS] > 0 or lock[UPGRADE] ~= '' then
        queue.watch(queue.settle(), told)
    else
        lk.phase_update()
    end
    local fault
    if lock[HOLDS] > 0 then
        fault = lk.save()
    else -- SPEC 7.1, 7.2
        local was_indexed = lock[FORM] == INDEXED
        lk.life_end()
        if lock[LAST_FENCE] > 0 then
            fault = lk.write('SET', lk.header(0), 'PXAT', lk.expiry(0))
        elseif lock[VALUE] then
            redis.call('DEL', lock[KEY])
        end
        if was_indexed then redis.call('DEL', lock[INDEX_KEY]) end
    end
    local messages = lock[MESSAGES]
    if fault or not messages then return fault end
    -- A protected call: if an ACL forbids the channel, the finished operation must not become an error.
    local channel = string.match(lock[KEY], '^[^{]+')
    for at = 1, #messages, 2 do redis.pcall('PUBLISH', channel .. messages[at], messages[at + 1]) end
end,

-- SPEC 10.3.
granted = function(hold)
    local fence = hold[FENCE]
    return 'granted ' .. now_text .. ' ' .. (fence == now and now_text or string.format('%.0f', fence))
        .. string.format(' %d %d', math.floor((hold[DUE] - now) / 1000), (lock[MARK] > 0 and 1 or 0) + 2 * lock[POLICY])
end,

-- SPEC 5.1, 5.3: the client of the hold has answered. A deadline never moves to an earlier instant.
claim = function(hold, lease)
    if hold[KIND] == UNCLAIMED then hold[KIND], lock[CHANGED] = HOLD, true end
    if now + lease > hold[DUE] then hold[DUE], lock[MOVED] = now + lease, hold end
    hold[STORED] = nil
end,

--@constant DEEPEST 65535
--@constant TOO_DEEP 'LKDEPTH mode: held 65535 times already'
