-- SPEC 3.5: the place of the waiter `placed`; 5.5: the time to the earliest deadline.
local place, mode = 1, placed[WRITES]
if lock[UPGRADE] ~= placed[HANDLE] then
    --@include before.lua
    local is_last, theirs = placed[TICKET] == lock[LAST_TICKET], lock[WRITERS - mode]
    local rank, others = is_last and lock[READERS + mode] - 1 or ask.rank(mode, placed[TICKET]), 0
    if theirs > 0 and not before then
        others = is_last and theirs or ask.rank(1 - mode, placed[TICKET])
    elseif mode == READ then
        others = math.min(before or 0, theirs)
    elseif rank >= (before or 0) then
        others = theirs
    end
    place = rank + others + (lock[UPGRADE] ~= '' and 2 or 1)
end
local earliest_ms = math.ceil((ask.earliest() - now) / 1000)
