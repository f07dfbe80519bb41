-- Opens the lock of a request that may be `wrong`.
if wrong then return { err = wrong } end
local key, index_key, value = KEYS[1], KEYS[2], redis.pcall('GET', KEYS[1])
--@include lock.lua
--@include open.lua
