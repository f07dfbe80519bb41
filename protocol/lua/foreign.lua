-- The value of the first key is not a lock of this version.
local earlier
if type(value) == 'string' then
    earlier = string.find(value, '^lk%d') or string.find(value, '^[ahcx][rwb]%d%d %d+ ')
elseif string.find(value.err, 'WRONGTYPE') then
    earlier = type(redis.pcall('HGET', key, 'fence')) == 'string'
else
    fault = value.err -- the rights to it
end
fault = fault or earlier and 'LKVERSION ' .. key .. ': holds a lock of another version of latchkey; stop the programs '
    .. 'that use that version, then delete the key'
    or 'LKTYPE ' .. key .. ': holds another type of value than this lock'
