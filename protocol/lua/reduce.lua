-- release and convert: a hold gives up a write or a read.

-- SPEC 9.3, 9.4, 9.5. Returns 'again' for a request that was done before, or the answer to one that is refused;
-- otherwise nil.
local function refuse(hold, waiter, by, mode)
    local last = math.max(hold and lock[hold + LAST_REQ] or 0, waiter and lock[waiter + LAST_REQ] or 0)
    if req <= last then
        return req == last and hold and lock[hold + LAST_REQ] == req and lock[hold + BY] == by and 'again' or 'stale '
    end
    local is_meant = hold and lock[hold + FIRST_FENCE] <= fence and fence <= lock[hold + FENCE]
    if not is_meant or lock[hold + READS + mode] == 0 then return 'not-held ' end
end

-- `was_told`: 1 if the caller of the hold was told of its grant.
local function reduce(hold, reads, writes, by, was_told)
    local wrote = lock[hold + WRITES] > 0
    lock[hold + LAST_REQ], lock[hold + BY] = req, by
    lk.hold_count(hold, reads, writes)
    if was_told == 1 and wrote and writes == 0 and lock[hold + FENCE] > lock[MARK] then lock[MARK] = 0 end -- SPEC 6.3
end

-- SPEC 4.5: the upgrade of an owner without a hold becomes a writer-waiter with a new ticket.
local function demote_upgrade()
    if lock[UPGRADE] == '' then return end
    local _, upgrade = lk.pair(lock[UPGRADE])
    if lk.counts_of(upgrade) > 0 then return end
    lock[UPGRADE] = ''
    queue.add(upgrade, false)
end
