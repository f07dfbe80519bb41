-- Settles the lock, writes it, and sends the messages. `told` is the waiter whose place is in the answer, or nil
-- (SPEC 5.5). Returns an error if the lock cannot be written; nothing has changed then.
local refused
if not lock[CHANGED] then
    if lock[MOVED] then refused = lk.save_due(lock[MOVED]) end
else
    if lock[READERS] + lock[WRITERS] > 0 or lock[UPGRADE] ~= '' then
        local first = queue.settle()
        if first and first ~= told and (lock[HANDED_OVER] or first ~= lock[FIRST]) then
            queue.tell(first, 'watch ', '0', math.ceil((lk.earliest() - now) / 1000), 0)
        end
    elseif lock[HOLDS] > 0 then
        lock[PHASE] = lock[WRITE_HOLDS] > 0 and WRITE or READ -- SPEC 3.6
    end
    if lock[HOLDS] > 0 then
        refused = lk.save()
    else -- SPEC 7.1, 7.2
        if lock[MARK] > 0 or lock[LAST_FENCE] > now then
            refused = lk.write('SET', struct.pack(FULL_FORMAT, MAGIC, FULL, 0, FAIR, READ, 0, lock[LAST_FENCE], 0, '', 0,
                lock[MARK], lock[MARK_UNTIL], 0, ''), 'PXAT', lk.expiry(0))
        elseif value then
            redis.call('DEL', key)
        end
        if lock[FORM] == INDEXED then redis.call('DEL', index_key) end
    end
    local messages = lock[MESSAGES]
    if messages and not refused then
        -- A protected call: if an ACL forbids the channel, the finished operation must not become an error.
        local prefix = string.match(key, '^[^{]+')
        for at = 1, #messages, 2 do redis.pcall('PUBLISH', prefix .. messages[at], messages[at + 1]) end
    end
end
if refused then return { err = refused } end
