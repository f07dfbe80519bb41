-- SPEC 5.2: drops what has expired; the lock settles. Nothing has changed if there is a `fault`. `loses`: whether the
-- operation itself may end a hold without a release.
if fault then return { err = fault } end
loses = loses or lock[EXPIRED]
local waits = lock[READERS] + lock[WRITERS] + lock[MISSES] > 0 or lock[UPGRADE] ~= ''
if not queue and (waits or loses) then lk.make_queue() end
if loses and not losses then
    --@include losses.lua
end
if lock[EXPIRED] then
    queue.unsettle()
    losses.drop_expired()
    losses.settle()
    if handle then hold, waiter = ask.pair(handle) end
elseif lock[HOLDS] == 0 and value and lock[MARK] == 0 and lock[LAST_FENCE] <= now then
    lock[LAST_FENCE], lock[CHANGED] = 0, true -- SPEC 7.1: the clock has passed the fence
end
