-- The time source: the server's clock, µs in digits. Nothing else in the scripts reads a time.
local now_text = redis.call('TIME')
if #now_text[2] == 6 then
    now_text = now_text[1] .. now_text[2]
else
    now_text = now_text[1] .. string.sub('00000' .. now_text[2], -6)
end
