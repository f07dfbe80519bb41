-- Settles the lock, writes it, and sends the messages. `placed` is the waiter whose place is in the answer, or nil.
if lock[CHANGED] then
    if lock[READERS] + lock[WRITERS] == 0 and lock[UPGRADE] == '' then
        if lock[HOLDS] > 0 then lock[PHASE] = lock[WRITE_HOLDS] > 0 and WRITE or READ end -- SPEC 3.6
    elseif lock[UNSETTLED] then
        local first = queue.settle()
        if first and first ~= placed and (lock[HANDED_OVER] or first ~= lock[FIRST]) then -- SPEC 5.5
            queue.tell(first, 'watch ', first[LAST_REQ], '0', math.ceil((ask.earliest() - now) / 1000), 0)
        end
    end
end
if lock[CHANGED] or lock[MOVED] then
    --@include save.lua
end
if lock[MESSAGES] then
    -- A protected call: if an ACL forbids the channel, the finished operation must not become an error.
    local messages, prefix = lock[MESSAGES], string.match(key, '^[^{]+')
    for at = 1, #messages, 2 do redis.pcall('PUBLISH', prefix .. messages[at], messages[at + 1]) end
end
