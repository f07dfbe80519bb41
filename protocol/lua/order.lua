-- Who comes next: SPEC 3.5, as a table. What a policy says of readers and writers in general is what it says of the head of
-- each queue.

lk.POLICY = { ['fair'] = 0, ['phase-fair'] = 1, ['prefer-writer'] = 2, ['prefer-reader'] = 3 }

-- The queue that comes first; nil: the lower ticket. In a read phase phase-fair lets one writer before the readers.
function lk.preferred(phase)
    local lock = lk.lock
    if lock.policy == 'fair' then return nil end
    if lock.policy == 'prefer-writer' or (lock.policy == 'phase-fair' and phase == 'read') then return lk.writer_key end
    return lk.reader_key
end

function lk.head(queue)
    if not lk.heads[queue] then lk.heads[queue] = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES') end
    return lk.heads[queue]
end

-- The handle of the first in order, or nil.
function lk.first_in_order(phase)
    local lock = lk.lock
    if lock.up then return lock.up end
    if lock.writer_waiters == 0 then
        return lock.reader_waiters > 0 and lk.head(lk.reader_key)[1] or nil
    end
    if lock.reader_waiters == 0 then return lk.head(lk.writer_key)[1] end
    local queue = lk.preferred(phase)
    if not queue then
        local reader, writer = lk.head(lk.reader_key), lk.head(lk.writer_key)
        queue = tonumber(reader[2]) < tonumber(writer[2]) and lk.reader_key or lk.writer_key
    end
    return lk.head(queue)[1]
end

function lk.place_of(waiter)
    local lock = lk.lock
    if lock.up == waiter.handle then return 1 end
    local reads = waiter.mode == 'read'
    local mine, other, others = lk.reader_key, lk.writer_key, lock.writer_waiters
    if not reads then
        mine, other, others = lk.writer_key, lk.reader_key, lock.reader_waiters
    end
    local rank = redis.call('ZRANK', mine, waiter.handle)
    local before
    if lock.policy == 'fair' then
        before = others > 0 and redis.call('ZCOUNT', other, '-inf', '(' .. waiter.ticket) or 0
    elseif lk.preferred(lock.phase) ~= mine then
        before = others
        if lock.policy == 'phase-fair' and lock.phase == 'read' then before = math.min(before, 1) end
    else
        before = lock.policy == 'phase-fair' and lock.phase == 'read' and rank > 0 and others or 0
    end
    return 1 + (lock.up and 1 or 0) + rank + before
end
