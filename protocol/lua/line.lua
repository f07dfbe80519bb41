-- The line of a lock with few waiters, a field of its hash (lock.lua): for each of them its
-- deadline, the length of what follows, and handle, lease, req, since and texts (record.lua).
lk.LINE_MOST = 8

-- How many there are, and their earliest and latest deadlines.
function lk.line_dues(line)
    local count, earliest, latest, at = 0, math.huge, 0, 1
    while at <= #line do
        local due, length, from = string.match(line, '^(%d+) (%d+) ()', at)
        due = tonumber(due)
        count, at = count + 1, from + length
        if due < earliest then earliest = due end
        if due > latest then latest = due end
    end
    return count, earliest, latest
end
