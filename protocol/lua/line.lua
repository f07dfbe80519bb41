-- A lock that one holds and few wait for is one text (record.lua): the hold, and behind it the line of
-- those that wait, the first first. All are their own owners. An entry of the line is
--   due length handle req lease since texts
-- `length` being that of its texts, so that they are, as they stand, those of the hold it becomes.
local LINE_MOST = '8'

-- The earliest and the latest deadline in a line.
local function line_dues(line)
    local earliest, latest, at = math.huge, 0, 1
    while at <= #line do
        local due, length, from = string.match(line, '^(%d+) (%d+) %S+ %d+ %d+ %d+ ()', at)
        due = tonumber(due)
        at = from + length
        if due < earliest then earliest = due end
        if due > latest then latest = due end
    end
    return earliest, latest
end
