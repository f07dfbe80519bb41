-- Holds that end without a release: expiry, force, replacement.
losses = {

-- SPEC 6.1, 4.6. `instant` is the instant of the mark (6.4). Returns whether the upgrade goes with the hold.
lose = function(hold, instant)
    if lock[hold + WRITES] > 0 then
        lock[MARK_UNTIL] = math.max(lock[MARK] > 0 and lock[MARK_UNTIL] or 0, instant + HOUR)
        lock[MARK], lock[MARK_OF] = lock[LAST_FENCE], 0
    end
    lk.hold_remove(hold)
    return lock[UPGRADE] == lock[hold + HANDLE]
end,

-- Holds were lost.
finish = function(upgrade_too)
    if lock[UPGRADE] == '' then return end
    local _, upgrade = lk.pair(lock[UPGRADE])
    if upgrade_too or lk.counts_of(upgrade) == 0 then queue.remove(upgrade) end
end,

-- SPEC 5.6: a grant that its client did not claim in time, and made no request since.
is_missed = function(hold)
    local _, waiter = lk.pair(lock[hold + HANDLE])
    return lock[hold + PROVISIONAL] == 1 and lock[hold + READS] + lock[hold + WRITES] == 1
        and lock[hold + BY] == BY_ACQUIRE and lock[hold + LAST_REQ] == lock[hold + GRANTED_FOR] and not waiter
        and lock[hold + SINCE] + math.min(lock[hold + LEASE], LIVENESS) > now
end,

miss = function(hold)
    local mode, was_marked = lock[hold + WRITES], lock[MARK] > 0
    losses.lose(hold, lock[hold + DUE])
    lock[hold + KIND], lock[hold + MODE], lock[MISSES] = MISSED, mode, lock[MISSES] + 1
    lock[hold + DUE] = lock[hold + SINCE] + math.min(lock[hold + LEASE], LIVENESS)
    if mode == WRITE and not was_marked then lock[MARK_OF] = lock[hold + TICKET] end
    if lock[INDEXED] == 1 then lk.touch(hold) end
end,

-- SPEC 5.2.
drop_expired = function()
    local latest, upgrade_too = 0, false
    local waiters = {} -- removed last, because is_missed must see them
    for _, record in ipairs(lk.expired) do
        if lock[record + KIND] < MISSED then latest = math.max(latest, lock[record + DUE]) end
        if lock[record + KIND] ~= HOLD then
            waiters[#waiters + 1] = record
        elseif losses.is_missed(record) then
            losses.miss(record)
        else
            upgrade_too = losses.lose(record, lock[record + DUE]) or upgrade_too
        end
    end
    for _, waiter in ipairs(waiters) do queue.remove(waiter) end
    losses.finish(upgrade_too)
    if lock[MARK] > 0 then lock[MARK_UNTIL] = math.max(lock[MARK_UNTIL], latest + HOUR) end -- SPEC 6.4
end,
}
