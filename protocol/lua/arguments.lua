-- Checks keys and arguments, and makes the errors of SPEC 10.12. lk.fault is the first fault that was
-- found.

-- The numbers of the policies in flags (SPEC 10.3).
lk.POLICIES = { ['fair'] = 0, ['phase-fair'] = 1, ['prefer-writer'] = 2, ['prefer-reader'] = 3 }
lk.POLICY_NAMES = { [0] = 'fair', 'phase-fair', 'prefer-writer', 'prefer-reader' }

-- SPEC 10.1. tonumber alone would accept inf, nan and 0x10, and round numbers above 2^53. On a fault it
-- returns nil and the rule that was broken.
function lk.number(text, least, most, rule)
    if #text > 16 or not string.find(text, '^%d+$')
        or (#text == 16 and text > '9007199254740992') then
        return nil, 'must be a number of at most 16 digits, up to 2^53'
    end
    local value = tonumber(text)
    if value < least or value > most then return nil, rule end
    return value
end

function lk.text(text, most)
    if #text > most or string.find(text, '%z') then
        return nil, 'must be at most ' .. most .. ' bytes without NUL'
    end
    return text
end

function lk.argument(name, text)
    if name == 'req' or name == 'target' then
        return lk.number(text, 1, 2 ^ 53, 'must be at least 1')
    elseif name == 'fence' or name == 'any_req' then
        return lk.number(text, 0, 2 ^ 53)
    elseif name == 'wait' then
        return lk.number(text, 0, 1, 'must be 0 or 1')
    elseif name == 'lease_ms' then
        return lk.number(text, 100, 86400000, 'must be 100 to 86400000')
    elseif name == 'floor' then
        return lk.number(text, 0, lk.now + 86400000000,
            "is more than a day ahead of the server's clock")
    elseif name == 'limit' then
        return lk.number(text, 0, 100000, 'must be at most 100000')
    elseif name == 'owner' then
        return lk.text(text, 128)
    elseif name == 'group' then
        return lk.text(text, 64)
    elseif name == 'who' then
        return lk.text(text, 255)
    elseif name == 'mode' then
        if text == 'read' or text == 'write' then return text end
        return nil, 'must be read or write'
    elseif name == 'policy' then
        if lk.POLICIES[text] then return text end
        return nil, 'must be fair, phase-fair, prefer-writer or prefer-reader'
    elseif name == 'handle' then
        if #text == 45 and string.find(text, '^[0-9a-f]+%-[0-9a-f]+$')
            and string.sub(text, 33, 33) == '-' then
            return text
        end
        return nil, 'must be 32 hex digits, a dash and 12 hex digits'
    end
end

-- The arguments of the script, one by one.
lk.arguments = ARGV

-- SPEC 11.5: splits arguments that were passed as one string.
function lk.unpack_arguments()
    if #ARGV ~= 1 then return end
    lk.arguments = {}
    for argument in string.gmatch(ARGV[1] .. '\0', '([^%z]*)%z') do
        lk.arguments[#lk.arguments + 1] = argument
    end
end

-- SPEC 11.1, 1.1: checks the four keys from KEYS[at] on.
function lk.check_lock_keys(at)
    local key = KEYS[at]
    local prefix, tag = string.match(key, '^([^{}]+):{(.*)}$')
    if not prefix or KEYS[at + 1] ~= key .. ':d' or KEYS[at + 2] ~= key .. ':r'
        or KEYS[at + 3] ~= key .. ':w' or tag == '%' or string.find(tag, '^}')
        or string.find(tag, '^%%[^%%}]') then
        lk.fault = 'LKARG keys: not the keys of one lock'
        return
    end
    local size = string.find(tag, '^%%') and #tag - 1 or #tag
    if size < 1 or size > 512 or string.find(tag, '%z') then
        lk.fault = 'LKARG name: must be 1 to 512 bytes without NUL'
    end
    lk.prefix = prefix
end

-- Checks the arguments from `at` on, and returns them by name.
function lk.read_arguments(names, at)
    local values = {}
    for i, name in ipairs(names) do
        local value, rule = lk.argument(name, lk.arguments[at + i - 1])
        if rule then
            lk.fault = lk.fault
                or 'LKARG ' .. (name == 'any_req' and 'req' or name) .. ': ' .. rule
        end
        values[name] = value
    end
    if values.lease_ms then values.lease = values.lease_ms * 1000 end
    return values
end

-- Reads the keys and all arguments of an operation on one lock. Returns nil and sets lk.fault if they
-- are not valid.
function lk.read_request(names)
    if #KEYS ~= 4 then
        lk.fault = 'LKARG keys: expected 4, got ' .. #KEYS
        return
    end
    lk.check_lock_keys(1)
    if not lk.fault and #lk.arguments ~= #names then
        lk.fault = 'LKARG arguments: expected ' .. #names .. ', got ' .. #lk.arguments
    end
    if lk.fault then return end
    local values = lk.read_arguments(names, 1)
    if not lk.fault then return values end
end
