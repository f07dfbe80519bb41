-- A full server refuses what needs memory, unless the script has written something before that does
-- not. What must succeed nevertheless (SPEC 11.3) insists first, or when it was refused.
local function insist(due_key)
    redis.pcall('ZREM', due_key, '')
end

local function set(key, due_key, value, expires)
    if redis.pcall('SET', key, value, 'PXAT', expires).err then
        redis.pcall('ZREM', due_key, '')
        redis.call('SET', key, value, 'PXAT', expires)
    end
end
