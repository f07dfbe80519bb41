-- release and convert: a hold gives up a write or a read.

-- SPEC 9.3, 9.4, 9.5. Returns 'again' for a request that was done before, or the answer to one that is refused;
-- otherwise nil.
local function refuse(hold, waiter, by, mode)
    local last = math.max(hold and hold[LAST_REQ] or 0, waiter and waiter[LAST_REQ] or 0)
    if req <= last then
        return req == last and hold and hold[LAST_REQ] == req and hold[BY] == by and 'again' or 'stale '
    end
    local is_meant = hold and hold[FIRST_FENCE] <= fence and fence <= hold[FENCE]
    if not is_meant or hold[READS + mode] == 0 then return 'not-held ' end
end

-- `was_told`: 1 if the caller of the hold was told of its grant.
local function reduce(hold, reads, writes, by, was_told)
    local wrote = hold[WRITES] > 0
    hold[LAST_REQ], hold[BY] = req, by
    lk.hold_count(hold, reads, writes)
    if was_told == 1 and wrote and writes == 0 and hold[FENCE] > lock[MARK] then lock[MARK] = 0 end -- SPEC 6.3
end
