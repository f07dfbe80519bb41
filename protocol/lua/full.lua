-- A full server refuses what needs memory, unless the script has written something before that does
-- not. What must succeed nevertheless (SPEC 11.3) insists first, or when it was refused.
local insisted = false

local function insist(key)
    if not insisted then redis.call('HDEL', key, '') end
    insisted = true
end

local function hset(key, field, value)
    if type(redis.pcall('HSET', key, field, value)) == 'table' then
        insist(key)
        redis.call('HSET', key, field, value)
    end
end
