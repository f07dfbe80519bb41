-- A full server refuses commands that need memory, unless the script has already run a write command that
-- needs none. So operations that must succeed on a full server (SPEC 11.3) insist: they run such a
-- command first, or after the server has refused a command.
local function insist(due_key)
    redis.pcall('ZREM', due_key, '')
end

local function set(key, due_key, value, expires)
    if redis.pcall('SET', key, value, 'PXAT', expires).err then
        redis.pcall('ZREM', due_key, '')
        redis.call('SET', key, value, 'PXAT', expires)
    end
end
