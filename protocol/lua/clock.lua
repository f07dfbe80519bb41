-- The time source: the server's clock in µs, as number and in digits. Nothing else in the scripts
-- reads a time.
local function clock()
    local t = redis.call('TIME')
    local us = t[2]
    if #us < 6 then us = string.sub('00000' .. us, -6) end
    local text = t[1] .. us
    return tonumber(text), text
end
