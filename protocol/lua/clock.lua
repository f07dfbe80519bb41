-- The time source: the server's clock, in µs. No other part of the scripts reads a time.
local seconds, micros = unpack(redis.call('TIME'))
local now = seconds * 1000000 + micros
local now_text = seconds .. (#micros == 6 and micros or string.sub('00000' .. micros, -6))
