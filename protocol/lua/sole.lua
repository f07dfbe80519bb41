-- A lock that one holds, and that few or none wait for, is one text: the value of its first key.
--
--   <kind><mode><flags><waiting> <fence> <entry of the hold><entries of those that wait, in order>
--   entry: <due> <since> <size> <handle> <req> <lease_ms> <texts>
--
-- kind     a: granted at once; h: handed over, not claimed yet; c: handed over, and claimed. The hold's
--          first fence is its fence, its last request is req, an acquire (of h and c: the one that waited).
--          x: anything else. Only the long way reads and writes it: see record.lua.
-- mode     of the hold: r, w, or b for both
-- flags    SPEC 10.3
-- waiting  how many entries follow that of the hold, at most 8. They want to write, the hold
--          writes, and all are their own owners.
-- size     how many bytes follow from req on, in two digits of base 64, the first of which is '0'
-- fence, due, since: µs in 16 digits. lease_ms: of a hold it has no meaning. texts: see record.lua.
--
-- So a waiter's entry is, from its size on, that of the hold it becomes, and all that is compared or
-- replaced stands where it always stands: what costs time in a script are the texts that it makes.
-- These functions know the layout by numbers, since a local that a function shares costs as much as
-- ten of its instructions. The hold's entry begins at 23; in an entry the due begins at 0, the size at 34,
-- the handle at 37 and the req at 83.

-- Where the entry behind this one begins.
local function entry_end(sole, at)
    local high, low = string.byte(sole, at + 34, at + 35)
    return at + 83 + (high - 48) * 64 + low - 48
end

-- The earliest and the latest deadline of the entries from this one on.
local function entries_due(sole, at)
    local earliest, latest = '9', ''
    while at < #sole do
        local due = string.sub(sole, at, at + 15)
        if due < earliest then earliest = due end
        if due > latest then latest = due end
        at = entry_end(sole, at)
    end
    return earliest, latest
end
