-- SPEC 3.5: the place of the waiter `told`; 5.5: the time to the earliest deadline.
local place, mode = 1, told[WRITES]
if lock[UPGRADE] ~= told[HANDLE] then
    --@include before.lua
    local rank, others, theirs = lk.rank(mode, told[TICKET]), 0, lock[WRITERS - mode]
    if theirs > 0 and not before then
        others = lk.rank(1 - mode, told[TICKET])
    elseif mode == READ then
        others = math.min(before or 0, theirs)
    elseif rank >= (before or 0) then
        others = theirs
    end
    place = rank + others + (lock[UPGRADE] ~= '' and 2 or 1)
end
local earliest_ms = math.ceil((lk.earliest() - now) / 1000)
