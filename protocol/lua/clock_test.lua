-- The time source of the test flavour: the µs in the key lk-test-clock. The server's own clock does not
-- follow it, so this file deletes the keys that would have expired by it.
local function key_expires_ms(key)
    local at = redis.pcall('PEXPIRETIME', key)
    if type(at) == 'number' then return at end
    repeat -- Redis 6.2
        local before = redis.call('TIME')
        local left = redis.call('PTTL', key)
        local after = redis.call('TIME')
        at = left < 0 and left or math.floor(after[1] * 1000 + after[2] / 1000) + left
    until math.floor(before[2] / 1000) == math.floor(after[2] / 1000)
    return at
end

local now_text = redis.call('GET', 'lk-test-clock')
local now = tonumber(now_text)
for _, given in ipairs(KEYS) do
    for _, key in ipairs({ given, given .. ':i' }) do
        local at = key_expires_ms(key)
        if at > 0 and at * 1000 <= now then redis.call('DEL', key) end
    end
end
