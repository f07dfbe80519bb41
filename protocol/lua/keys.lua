-- SPEC 11.1, 1.1: checks the keys of one lock. Returns the error, or nil. `index_key` may be nil.
local function key_fault(key, index_key)
    local others = index_key and index_key ~= key .. ':i'
    local tag = string.match(key, '^[^{}]+:{(.*)}$')
    if others or not tag or tag == '%' or string.find(tag, '^}') or string.find(tag, '^%%[^%%}]') then
        return 'LKARG keys: not the keys of one lock'
    end
    local size = string.find(tag, '^%%') and #tag - 1 or #tag
    if size < 1 or size > 512 or string.find(tag, '%z') then return 'LKARG name: must be 1 to 512 bytes without NUL' end
end
