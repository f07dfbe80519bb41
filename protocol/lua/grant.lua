-- Granting one request: who may hold together (SPEC 2), the phase (3.6), fences (8).
grant = {

-- SPEC 2.1, 2.2. If two owners hold, all read holds are of one group. So the counts of the lock are enough.
is_compatible = function(record, mode)
    local owners = lock[OWNERS]
    if owners == 0 then return true end
    local of_owner, of_group = lk.counts_of(record)
    return owners == 1 and of_owner > 0 or mode == READ and lock[WRITE_HOLDS] == 0 and lock[READ_HOLDS] == of_group
end,

-- SPEC 8.1.
draw_fence = function(floor)
    lock[LAST_FENCE] = math.max(lock[LAST_FENCE] + 1, now, lock[FLOOR] + 1, floor + 1)
    return lock[LAST_FENCE]
end,

-- Makes a record that has a deadline a hold with one count.
new = function(record, mode, req, floor, begins_life)
    local fence = lock[LAST_FENCE]
    if begins_life or mode == WRITE or (lock[GROUPED] == 1 and lock[READ_GROUP] ~= lock[record + GROUP])
        or (lock[MARK] > 0 and fence <= lock[MARK]) then -- SPEC 8.2
        fence = grant.draw_fence(floor)
    end
    if lk.counts_of(record) == 0 then lock[OWNERS] = lock[OWNERS] + 1 end
    if lock[INDEXED] == 1 and lock[record + OWNER] ~= '' then lk.recount('o' .. lock[record + OWNER], 1) end
    lock[record + KIND], lock[HOLDS] = HOLD, lock[HOLDS] + 1
    lock[record + SINCE], lock[record + FENCE], lock[record + FIRST_FENCE] = now, fence, fence
    lock[record + LAST_REQ], lock[record + BY], lock[record + GRANTED_FOR] = req, BY_ACQUIRE, 0
    lk.hold_count(record, 1 - mode, mode)
end,

-- Adds one count to a hold.
more = function(hold, mode, req, floor)
    if mode == WRITE and lock[hold + WRITES] == 0 then lock[hold + FENCE] = grant.draw_fence(floor) end -- SPEC 4.3, 8.2
    lk.hold_count(hold, lock[hold + READS] + 1 - mode, lock[hold + WRITES] + mode)
    if req > lock[hold + LAST_REQ] then lock[hold + LAST_REQ], lock[hold + BY] = req, BY_ACQUIRE end -- SPEC 9.1
end,
}
