-- Granting one request: who may hold together (SPEC 2), the phase (3.6), fences (8).
grant = {

-- SPEC 2.1, 2.2. If two owners hold, all read holds are of one group. So counts are enough.
is_compatible = function(record, mode)
    if lock[HOLDS] == 0 then return true end
    local of_owner, of_group = lk.counts_of(record)
    return of_owner == lock[HOLDS] or mode == READ and lock[WRITE_HOLDS] == 0 and lock[READ_HOLDS] == of_group
end,

-- SPEC 8.1.
draw_fence = function(floor)
    lock[LAST_FENCE] = math.max(lock[LAST_FENCE] + 1, now, lock[FLOOR] + 1, floor + 1)
    return lock[LAST_FENCE]
end,

-- Makes a record that has a deadline a hold with one count. `kind`: HOLD or UNCLAIMED.
new = function(record, kind, mode, req, floor, begins_life)
    local fence = lock[LAST_FENCE]
    if begins_life or mode == WRITE or (lock[GROUPED] == 1 and lock[READ_GROUP] ~= record[GROUP])
        or (lock[MARK] > 0 and fence <= lock[MARK]) then -- SPEC 8.2
        fence = grant.draw_fence(floor)
    end
    record[KIND], lock[HOLDS] = kind, lock[HOLDS] + 1
    record[SINCE], record[FENCE], record[FIRST_FENCE] = now, fence, fence
    record[LAST_REQ], record[BY], record[GRANTED_FOR] = req, BY_ACQUIRE, 0
    record[READS], record[WRITES] = 0, 0
    lk.hold_count(record, 1 - mode, mode)
end,

-- Adds one count to a hold.
more = function(hold, mode, req, floor)
    if mode == WRITE and hold[WRITES] == 0 then hold[FENCE] = grant.draw_fence(floor) end -- SPEC 4.3, 8.2
    lk.hold_count(hold, hold[READS] + 1 - mode, hold[WRITES] + mode)
    if req > hold[LAST_REQ] then hold[LAST_REQ], hold[BY] = req, BY_ACQUIRE end -- SPEC 9.1
end,
}
