-- A lock with one hold and few or no waiters is one string: the value of its first key.
--
--   <kind><mode><flags><waiting> <fence> <entry of the hold><entries of the waiters, in order>
--   entry: <due> <since> <size> <handle> <req> <lease_ms> <texts>
--
-- kind     a: granted at once; h: handed over, not claimed yet; c: handed over and claimed. In these
--          three, the hold's first fence is its fence, and its last request is req, an acquire (for h
--          and c: the request that waited).
--          x: any other hold. Only the long path reads and writes this kind: see record.lua.
-- mode     of the hold: r for reads, w for writes, b for both
-- flags    SPEC 10.3
-- waiting  the number of waiters' entries after the entry of the hold, at most 8. If it is not 0, the
--          hold and all waiters write, and each handle is its own owner.
-- size     the number of bytes from req on, in two digits of base 64; the digit for zero is '0'
-- fence, due and since are µs in 16 digits. lease_ms has no meaning for a hold. texts: see record.lua.
--
-- So, from its size on, the entry of a waiter is already the entry of the hold that it becomes. All parts
-- that are compared or replaced have fixed positions, because creating strings is what costs time in a
-- script. The code uses the positions as plain numbers, because a local that a function shares costs as
-- much as ten of its instructions. The entry of the hold begins at 23. Within an entry, due begins at 0,
-- size at 34, handle at 37 and req at 83.

-- Returns where the entry after this one begins.
local function entry_end(sole, at)
    local high, low = string.byte(sole, at + 34, at + 35)
    return at + 83 + (high - 48) * 64 + low - 48
end

-- Returns the earliest and the latest deadline of the entries from this one on.
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
