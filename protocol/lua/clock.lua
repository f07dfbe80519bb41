-- The time source: the server's clock, as µs in digits. No other part of the scripts reads a time.
local now_text = redis.call('TIME')
if #now_text[2] == 6 then
    now_text = now_text[1] .. now_text[2]
else
    now_text = now_text[1] .. string.sub('00000' .. now_text[2], -6)
end
