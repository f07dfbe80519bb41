-- renew: renews holds and waiters. Each entry is an operation of its own. SPEC 10.5.
-- KEYS  for each of 1 to 100 entries: the keys of its lock, one or two (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms, packed (SPEC 11.5)
-- Reply an array: the line `renewed time`, then for each entry: lease ms · queued place ms ·
--       granted fence ms flags · not-held · error text
--@include clock.lua
local key, index_key, value
--@include lock.lua

local function entry_fault(entry)
    local unpacked, handle, fence, req, lease, rest = pcall(struct.unpack, '<sddd', entry)
    --@include arguments.lua
    local fault = key_fault(key, index_key)
    if not unpacked or rest ~= #entry + 1 then return fault or 'LKARG arguments: expected 4, got 1' end
    return fault or handle_fault(handle) or number_fault('fence', fence, 0, MOST_NUMBER)
        or number_fault('req', req, fence == 0 and 1 or 0, MOST_NUMBER, 'must be at least 1')
        or number_fault('lease_ms', lease, 100, 86400000, 'must be 100 to 86400000')
end

local lease_ms, lease_answer -- most entries have the same answer

-- Renews one entry. Returns its answer; a table with an error if there is one.
local function renew(entry)
    local handle, zero, fence, req, lease = '', 1, 0, 0, 0
    if #entry == 70 then handle, zero, fence, req, lease = struct.unpack('<c45Bddd', entry) end
    -- The check in short. A key and a handle that are stored were checked.
    local is_good = zero == 0 and fence >= 0 and fence <= MOST_NUMBER and fence % 1 == 0 and req <= MOST_NUMBER
        and req % 1 == 0 and (req >= 1 or req == 0 and fence > 0) and lease >= 100 and lease <= 86400000
        and lease % 1 == 0
    value = redis.pcall('GET', key)
    --@include open.lua
    if not is_good or not hold and not waiter then fault = entry_fault(entry) or fault end
    --@include begin.lua
    lease = lease * 1000
    local answer = 'not-held'
    local is_meant = hold and fence ~= 0 and hold[FIRST_FENCE] <= fence and fence <= hold[FENCE]
    if fence == 0 and waiter and waiter[LAST_REQ] == req then
        --@include waiter_renew.lua
        is_meant = not placed
    elseif fence == 0 and hold then
        is_meant = hold[GRANTED_FOR] == req
    end
    if placed then
        --@include place.lua
        answer = string.format('queued %d %d', place, earliest_ms)
    elseif is_meant then
        --@include claim.lua
        local left = hold[DUE] - now
        local left_ms = (left - left % 1000) / 1000
        if fence == 0 then
            answer = string.format('granted %.0f %d %d', hold[FENCE], left_ms,
                (lock[MARK] > 0 and 1 or 0) + 2 * lock[POLICY])
        else
            if left_ms ~= lease_ms then lease_ms, lease_answer = left_ms, string.format('lease %d', left_ms) end
            answer = lease_answer
        end
    end
    --@include complete.lua
    return answer
end

local keys, second_keys = {}, {}
for at = 1, #KEYS do
    local before, this = keys[#keys], KEYS[at]
    if before and not second_keys[#keys] and #this == #before + 2 and this == before .. ':i' then
        second_keys[#keys] = this
    else
        keys[#keys + 1] = this
    end
end
if #keys < 1 or #keys > 100 then
    return { err = 'LKARG keys: expected 1 or 2 for each of 1 to 100 entries, got ' .. #KEYS }
end
if #ARGV ~= #keys then return { err = 'LKARG arguments: expected ' .. 4 * #keys .. ', got ' .. #ARGV } end
local reply = { 'renewed ' .. now_text }
for at = 1, #keys do
    key, index_key = keys[at], second_keys[at]
    local answer = renew(ARGV[at])
    reply[at + 1] = answer.err and 'error ' .. answer.err or answer
end
return reply
