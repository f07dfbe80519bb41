-- Holds that end without a release: the mark that a write leaves (SPEC 6.1), the upgrade that goes with a
-- hold (4.6), and the holds and waiters that have expired when an operation begins (5.2).

-- `at` is the instant of 6.4.
function lk.drop_hold(hold, at)
    local lock = lk.lock
    if hold.writes > 0 then
        lock.mark, lock.mark_until = lock.fence, math.max(lock.mark_until or 0, at + lk.HOUR)
    end
    lk.hold_remove(hold)
    if lock.up == hold.handle then lk.waiter_remove(lk.waiter_of(hold.handle)) end
end

-- SPEC 4.6. Called after holds were dropped.
function lk.drop_upgrade()
    local up = lk.lock.up and lk.waiter_of(lk.lock.up)
    if up and lk.count('o:' .. up.owner) == 0 then lk.waiter_remove(up) end
end

function lk.drop_run_out()
    local lock, run_out = lk.lock, lk.lock.run_out
    -- The latest waiter is first in the list, the latest hold is last.
    local latest = math.max(math.abs(redis.call('ZSCORE', lk.due_key, run_out[1])),
        math.abs(redis.call('ZSCORE', lk.due_key, run_out[#run_out])))
    for _, member in ipairs(run_out) do
        local handle = string.sub(member, 3)
        if string.sub(member, 1, 1) == 'h' then
            local hold = lk.hold_of(handle)
            lk.drop_hold(hold, lk.hold_due(hold))
        elseif lk.waiter_of(handle) then
            lk.waiter_remove(lk.waiter_of(handle))
        end
    end
    lk.drop_upgrade()
    if lock.mark then lock.mark_until = math.max(lock.mark_until, latest + lk.HOUR) end -- SPEC 6.4
end

-- SPEC 5.2. Before anything changes, it notes the first waiter in order, for 5.5.
function lk.begin()
    local lock = lk.lock
    lk.told, lk.provisional, lk.first_before = {}, false, nil
    if lock.shape == 'sole' and lock.sole.due <= lk.now then
        local due = lock.sole.due
        lk.drop_hold(lock.sole, due)
        if lock.mark then lock.mark_until = math.max(lock.mark_until, due + lk.HOUR) end
        lk.settle()
    elseif lock.shape == 'full' then
        lk.first_before = lk.first_in_order()
        if #lock.run_out > 0 then
            lk.drop_run_out()
            lk.settle()
        end
    end
end

-- SPEC 6.3. Called after a hold has released or downgraded a write.
function lk.wrote(hold)
    local lock = lk.lock
    if hold.writes == 0 and lock.mark and hold.fence > lock.mark then
        lock.mark, lock.mark_until = nil, nil
    end
end
