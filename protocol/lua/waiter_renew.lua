-- SPEC 5.4: renews `waiter`. A missed waiter may be granted at once, and is a hold then.
local alive_until = now + math.min(lease, LIVENESS)
if alive_until > waiter[DUE] then waiter[DUE], waiter[STORED], lock[MOVED] = alive_until, nil, waiter end
if waiter[KIND] == MISSED then
    queue.unsettle()
    -- SPEC 5.6: the client is alive. The mark that its hold left is withdrawn, and it stands in the order again.
    if lock[MARK_OF] == waiter[TICKET] then lock[MARK], lock[MARK_OF] = 0, 0 end
    waiter[KIND], waiter[STORED], lock[MISSES], lock[CHANGED] = WAITER, nil, lock[MISSES] - 1, true
    lock[READERS + waiter[WRITES]] = lock[READERS + waiter[WRITES]] + 1
    queue.settle()
end
if waiter[KIND] < WAITER then hold = waiter else placed = waiter end
