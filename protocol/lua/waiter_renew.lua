-- SPEC 5.4: renews `waiter`. A missed waiter may be granted at once, and is a hold then.
local was_missed = lock[waiter + KIND] == MISSED
if was_missed then
    --@include comeback.lua
end
local alive_until = now + math.min(lease, LIVENESS)
if alive_until > lock[waiter + DUE] then lock[waiter + DUE] = alive_until end
lk.changed = true
if lock[INDEXED] == 1 then lk.touch(waiter) end
if was_missed then queue.settle() end
