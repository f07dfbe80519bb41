-- Arguments: what they must look like, and the errors of SPEC 10.12. Only the first fault is kept.


function lk.fault(text)
    lk.fault_text = lk.fault_text or text
end

-- SPEC 10.1. tonumber alone would take inf, nan and 0x10, and round what lies above 2^53.
function lk.to_number(name, text)
    local size = #text
    if size > 16 or not string.find(text, '^%d+$') or (size == 16 and text > '9007199254740992') then
        lk.fault('LKARG ' .. name .. ': must be a number of at most 16 digits, up to 2^53')
        return 0
    end
    return tonumber(text)
end

function lk.to_request(name, text)
    local number = lk.to_number(name, text)
    if number < 1 then lk.fault('LKARG ' .. name .. ': must be at least 1') end
    return number
end

function lk.to_lease(text)
    local ms = lk.to_number('lease_ms', text)
    if ms < 100 or ms > 86400000 then lk.fault('LKARG lease_ms: must be 100 to 86400000') end
    return ms * 1000
end

function lk.check_handle(text)
    if #text ~= 45 or not string.find(text, '^[0-9a-f]+%-[0-9a-f]+$') or string.sub(text, 33, 33) ~= '-' then
        lk.fault('LKARG handle: must be 32 hex digits, a dash and 12 hex digits')
    end
end

function lk.check_mode(text)
    if text ~= 'read' and text ~= 'write' then lk.fault('LKARG mode: must be read or write') end
end

function lk.check_text(name, text, most)
    if #text > most or string.find(text, '%z') then
        lk.fault('LKARG ' .. name .. ': must be at most ' .. most .. ' bytes without NUL')
    end
end

function lk.check_arguments(count)
    if #ARGV ~= count then lk.fault('LKARG arguments: expected ' .. count .. ', got ' .. #ARGV) end
    return not lk.fault_text
end

-- SPEC 11.1, 1.1: the four keys from KEYS[first] on. Returns the prefix.
function lk.check_lock_keys(first)
    local main = KEYS[first]
    local before, tag = string.match(main, '^([^{}]+):{(.*)}$')
    if not before or KEYS[first + 1] ~= main .. ':d' or KEYS[first + 2] ~= main .. ':r'
        or KEYS[first + 3] ~= main .. ':w' or string.find(tag, '^}') or string.find(tag, '^%%[^%%}]')
        or tag == '%' then
        lk.fault('LKARG keys: not the keys of one lock')
        return
    end
    local size = #tag
    if string.find(tag, '^%%') then size = size - 1 end
    if size < 1 or size > 512 or string.find(tag, '%z') then
        lk.fault('LKARG name: must be 1 to 512 bytes without NUL')
    end
    return before
end

function lk.check_keys()
    if #KEYS ~= 4 then
        lk.fault('LKARG keys: expected 4, got ' .. #KEYS)
        return
    end
    return lk.check_lock_keys(1)
end
