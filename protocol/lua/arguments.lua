-- Finds the fault of a request (SPEC 10.12). A script includes this file where its own, shorter check has failed, or
-- where speed does not matter. Each function returns the error, or nil.
--@include keys.lua

-- `expected` is the number of arguments of the operation.
local function keys_fault(expected)
    if #KEYS ~= 1 and #KEYS ~= 2 then return 'LKARG keys: expected 1 or 2, got ' .. #KEYS end
    local is_packed = unpacked and rest == #ARGV[1] + 1
    return key_fault(KEYS[1], KEYS[2])
        or not is_packed and 'LKARG arguments: expected ' .. expected .. ', got ' .. #ARGV or nil
end

local function handle_fault(handle)
    if #handle ~= 45 or string.byte(handle, 33) ~= 45
        or not string.find(handle, '^[0-9a-f]+%-[0-9a-f]+$') then
        return 'LKARG handle: must be 32 hex digits, a dash and 12 hex digits'
    end
end

--@constant MOST_NUMBER 9007199254740992
-- SPEC 10.1. A number that is not a number fails every comparison.
local function number_fault(name, value, least, most, rule)
    if not (value >= 0 and value <= MOST_NUMBER and value % 1 == 0) then
        return 'LKARG ' .. name .. ': must be a number of at most 16 digits, up to 2^53'
    end
    if value < least or value > most then return 'LKARG ' .. name .. ': ' .. rule end
end

local function text_fault(name, text, most)
    if #text > most then return 'LKARG ' .. name .. ': must be at most ' .. most .. ' bytes without NUL' end
end
