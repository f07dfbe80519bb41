-- The rest of open.lua, for an indexed lock.
local members = indexed.expired_members()
fault = members.err
if #members > 0 then
    indexed.begin()
    if lock[MISSES] > 0 then
        for _, member in ipairs(redis.call('ZRANGEBYSCORE', index_key, -MISSED_DUES - now, -MISSED_DUES)) do
            members[#members + 1] = member
        end
    end
    if #members > 1 then lock[EXPIRED] = indexed.records_of(members) end
    if handle and #handle == 45 then hold, waiter = ask.pair(handle) end
elseif not fault then
    -- Every hold and every waiter expired so long ago that the index has expired, too.
    if write_holds > 0 then mark = last_fence end -- SPEC 6.1
    mark_until = math.max(lock[MARK] > 0 and mark_until or 0, latest + HOUR) -- SPEC 6.4
    lock = { FAIR, READ, 0, last_fence, 0, '', 0, mark, mark_until, 0, '', 0, 0, 0, 0, 0, 0, 0, true, PLAIN }
end
