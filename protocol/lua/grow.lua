-- A packed lock has too many records. An index that is there belongs to a lock that is gone. It is not deleted
-- and written in one call: in a slot that is being moved, that write would fail.
local members = indexed.expired_members()
fault = members.err
if #members > 0 then
    redis.call('DEL', index_key)
    fault = 'LKKEYS ' .. key .. ': ask again'
end
fault = fault or indexed.full_error()
if fault then return { err = fault } end
indexed.begin()
redis.call('ZADD', index_key, '0', '.')
for _, record in ipairs(records) do record[STORED] = nil end
lock[FORM] = INDEXED
