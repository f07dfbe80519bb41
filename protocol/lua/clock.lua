-- The time source: the server's clock in µs. Nothing else in the scripts reads a time.
function lk.clock()
    local t = redis.call('TIME')
    return t[1] * 1000000 + t[2]
end
