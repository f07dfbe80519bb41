-- Holds that end without a release: expiry, force, replacement.
losses = {

-- SPEC 6.1, 4.6. `instant` is the instant of the mark (6.4). Returns whether the upgrade goes with the hold.
lose = function(hold, instant)
    if hold[WRITES] > 0 then
        lock[MARK_UNTIL] = math.max(lock[MARK] > 0 and lock[MARK_UNTIL] or 0, instant + HOUR)
        lock[MARK], lock[MARK_OF] = lock[LAST_FENCE], 0
    end
    lk.recount(hold, 0, 0)
    return lock[UPGRADE] == hold[HANDLE]
end,

-- Holds were lost.
finish = function(upgrade_too)
    if lock[UPGRADE] == '' then return end
    local _, upgrade = ask.pair(lock[UPGRADE])
    if upgrade_too or ask.counts_of(upgrade) == 0 then queue.remove(upgrade) end
end,

-- Settles after holds or waiters were lost. SPEC 1.7: this may be the end of the life.
settle = function()
    queue.settle()
    if lock[HOLDS] + lock[MISSES] > 0 then return end
    lock[POLICY], lock[PHASE], lock[GROUPED], lock[READ_GROUP] = FAIR, READ, 0, ''
    lock[FLOOR], lock[LAST_TICKET], lock[MARK_OF] = 0, 0, 0
    if lock[MARK] == 0 and lock[LAST_FENCE] <= now then lock[LAST_FENCE] = 0 end
end,

-- SPEC 5.6: if the client of the hold did not claim it in time, and made no request since, the hold becomes a missed
-- waiter of the same mode. Returns whether it does.
miss = function(hold)
    local _, waiter = ask.pair(hold[HANDLE])
    local was_marked, mode, kept_until = lock[MARK] > 0, hold[WRITES], hold[SINCE] + math.min(hold[LEASE], LIVENESS)
    if hold[KIND] ~= UNCLAIMED or hold[READS] + mode ~= 1 or hold[BY] ~= BY_ACQUIRE
        or hold[LAST_REQ] ~= hold[GRANTED_FOR] or waiter or kept_until <= now then
        return false
    end
    losses.lose(hold, hold[DUE])
    hold[KIND], hold[READS], hold[WRITES], hold[DUE] = MISSED, 1 - mode, mode, kept_until
    lock[MISSES] = lock[MISSES] + 1
    if mode == WRITE and not was_marked then lock[MARK_OF] = hold[TICKET] end
    return true
end,

-- SPEC 5.2.
drop_expired = function()
    local latest, upgrade_too = 0, false
    local waiters = {} -- removed last, because miss must see them
    for _, record in ipairs(lock[EXPIRED]) do
        if record[KIND] < MISSED then latest = math.max(latest, record[DUE]) end
        if record[KIND] >= WAITER then
            waiters[#waiters + 1] = record
        elseif not losses.miss(record) then
            upgrade_too = losses.lose(record, record[DUE]) or upgrade_too
        end
    end
    for _, waiter in ipairs(waiters) do queue.remove(waiter) end
    losses.finish(upgrade_too)
    if lock[MARK] > 0 then lock[MARK_UNTIL] = math.max(lock[MARK_UNTIL], latest + HOUR) end -- SPEC 6.4
end,
}
