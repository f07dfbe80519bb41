-- The order of waiters: SPEC 3.5.

-- Returns the mode that comes first; nil if the lower ticket decides. Under phase-fair, in a read phase,
-- only one writer comes before the readers.
function lk.preferred()
    local policy, phase = lk.lock.policy, lk.lock.phase
    if policy == 'fair' then return nil end
    if policy == 'prefer-writer' or (policy == 'phase-fair' and phase == 'read') then
        return 'write'
    end
    return 'read'
end

-- Returns handle and ticket of the first waiter in a queue that is not empty.
function lk.head(mode)
    local first = lk.heads[mode]
    if not first then
        first = redis.call('ZRANGE', lk.queue_key(mode), '0', '0', 'WITHSCORES')
        lk.heads[mode] = first
    end
    return first
end

-- Returns the handle of the first waiter in order, or nil.
function lk.first_in_order()
    local lock = lk.lock
    if lock.up then return lock.up end
    if lock.reader_waiters == 0 and lock.writer_waiters == 0 then return nil end
    local mode
    if lock.writer_waiters == 0 then
        mode = 'read'
    elseif lock.reader_waiters == 0 then
        mode = 'write'
    else
        mode = lk.preferred()
            or (tonumber(lk.head('read')[2]) < tonumber(lk.head('write')[2]) and 'read' or 'write')
    end
    return lk.head(mode)[1]
end

function lk.place_of(waiter)
    local lock = lk.lock
    if lock.up == waiter.handle then return 1 end
    local reads = waiter.mode == 'read'
    local others = reads and lock.writer_waiters or lock.reader_waiters
    local rank = redis.call('ZRANK', lk.queue_key(waiter.mode), waiter.handle)
    local one_writer = lock.policy == 'phase-fair' and lock.phase == 'read'
    local before = 0
    if others == 0 then
        before = 0
    elseif lock.policy == 'fair' then
        before = redis.call('ZCOUNT', lk.queue_key(reads and 'write' or 'read'), '-inf',
            '(' .. waiter.ticket)
    elseif one_writer then
        before = reads and 1 or (rank > 0 and others or 0)
    elseif lk.preferred() ~= waiter.mode then
        before = others
    end
    return 1 + (lock.up and 1 or 0) + rank + before
end
