-- SPEC 5.6: the client of a missed waiter is alive. The mark that its hold left is withdrawn, and it stands in the
-- order again.
if lock[MARK_OF] == lock[waiter + TICKET] then lock[MARK], lock[MARK_OF] = 0, 0 end
lock[waiter + KIND], lock[MISSES] = WAITER, lock[MISSES] - 1
lock[READERS + lock[waiter + MODE]] = lock[READERS + lock[waiter + MODE]] + 1
