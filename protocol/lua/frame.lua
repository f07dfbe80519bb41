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
    elseif lock[OWNERS] > 0 then
        lock[PHASE] = READ
    end
end,

waits = function()
    return lock[READERS] + lock[WRITERS] > 0 or lock[UPGRADE] ~= ''
end,

-- Opens the lock for an operation: SPEC 5.2. `value` is the value of the first key. Returns an error if there is one.
begin = function(key, index_key, value)
    local fault = lk.open(key, index_key, value)
    if fault then return fault end
    lk.granted_provisionally, lk.first_handle = false, nil
    if lk.waits() or lock[MISSES] > 0 then
        if not queue then lk.make_queue() end
        local first = queue.first()
        if first then lk.first_handle, lk.first_req = lock[first + HANDLE], lock[first + LAST_REQ] end
    end
    if lk.expired then
        if not losses then lk.make_losses() end
        losses.drop_expired()
        queue.settle()
    elseif lock[HOLDS] == 0 and lk.stored and lock[MARK] == 0 and lock[LAST_FENCE] <= now then
        lk.life_end() -- SPEC 7.1: the clock has passed the fence
        lk.changed = true
    end
end,

-- Settles the lock, writes it, and sends the messages. `told` is the waiter whose place is in the answer, or nil
-- (SPEC 5.5). Returns an error if there is one; nothing has changed then.
complete = function(told)
    if not lk.changed then return nil end
    if lk.waits() then
        queue.settle()
        queue.watch(told)
    else
        lk.phase_update()
    end
    local fault
    if lock[HOLDS] > 0 then
        fault = lk.save()
    else -- SPEC 7.1, 7.2
        local was_indexed = lock[INDEXED] == 1
        lk.life_end()
        lock[COUNT], lock[INDEXED], lock[MISSES] = 0, 0, 0
        if lock[LAST_FENCE] > 0 then
            fault = lk.set(struct.pack(HEADER_FORMAT, unpack(lock, 1, HEADER_LENGTH)), 0)
        elseif lk.stored then
            redis.call('DEL', lk.key)
        end
        if was_indexed then redis.call('DEL', lk.index_key) end
    end
    if fault or not lk.lines then return fault end
    -- A protected call: if an ACL forbids the channel, the finished operation must not become an error.
    local channel = string.match(lk.key, '^[^{]+')
    for _, client in ipairs(lk.clients) do redis.pcall('PUBLISH', channel .. client, lk.lines[client]) end
end,

-- SPEC 10.3.
granted = function(hold)
    local flags = (lock[MARK] > 0 and 1 or 0) + 2 * lock[POLICY]
    local fence = lock[hold + FENCE]
    return string.format('granted %s %s %d %d', now_text, fence == now and now_text or string.format('%.0f', fence),
        math.floor((lock[hold + DUE] - now) / 1000), flags)
end,

-- SPEC 5.1, 5.3: the client of the hold has answered. A deadline never moves to an earlier instant.
claim = function(hold, lease)
    lock[hold + PROVISIONAL], lk.changed = 0, true
    if now + lease > lock[hold + DUE] then lock[hold + DUE] = now + lease end
    if lock[INDEXED] == 1 then lk.touch(hold) end
end,

--@constant DEEPEST 65535
--@constant TOO_DEEP 'LKDEPTH mode: held 65535 times already'
