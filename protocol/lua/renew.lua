-- renew: renews holds and waiters. Each entry is an operation of its own. SPEC 10.5.
-- KEYS  for each of 1 to 100 entries: the keys of its lock, one or two (SPEC 11.1)
-- ARGV  for each entry: handle fence req lease_ms, packed (SPEC 11.5)
-- Reply an array: the line `renewed time`, then for each entry: lease ms · queued place ms ·
--       granted fence ms flags · not-held · error text
--@include clock.lua
--@include arguments.lua
--@include lock.lua

-- Also returns the waiter if the answer tells its place.
local function decide(hold, waiter, fence, req, lease)
    if fence == 0 and waiter and waiter[LAST_REQ] == req then
        --@include waiter_renew.lua
        if waiter[KIND] >= WAITER then
            return string.format('queued %d %d', queue.place(waiter), math.ceil((lk.earliest() - now) / 1000)), waiter
        end
        hold = waiter
    elseif fence ~= 0 then
        if not (hold and hold[FIRST_FENCE] <= fence and fence <= hold[FENCE]) then return 'not-held' end
    elseif not hold or hold[GRANTED_FOR] ~= req then
        return 'not-held'
    end
    lk.claim(hold, lease)
    local left_ms = math.floor((hold[DUE] - now) / 1000)
    if fence ~= 0 then return string.format('lease %d', left_ms) end
    return string.format('granted %.0f %d %d', hold[FENCE], left_ms, (lock[MARK] > 0 and 1 or 0) + 2 * lock[POLICY])
end

local function renew(key, index_key, packed)
    local unpacked, handle, fence, req, lease, rest = pcall(struct.unpack, '<sddd', packed)
    if not unpacked or rest ~= #packed + 1 then
        return 'error ' .. (key_fault(key, index_key) or 'LKARG arguments: expected 4, got 1')
    end
    local fault = key_fault(key, index_key) or handle_fault(handle) or number_fault('fence', fence, 0, MOST_NUMBER)
        or number_fault('req', req, fence == 0 and 1 or 0, MOST_NUMBER, 'must be at least 1')
        or number_fault('lease_ms', lease, 100, 86400000, 'must be 100 to 86400000')
    if fault then return 'error ' .. fault end
    fault = lk.begin(key, index_key, redis.pcall('GET', key))
    if fault then return 'error ' .. fault end
    local hold, waiter = lk.pair(handle)
    local answer, told = decide(hold, waiter, fence, req, lease * 1000)
    fault = lk.complete(told)
    return fault and 'error ' .. fault or answer
end

local entries, second_keys = {}, {}
for _, key in ipairs(KEYS) do
    local before = #entries
    if before > 0 and not second_keys[before] and key == entries[before] .. ':i' then
        second_keys[before] = key
    else
        entries[before + 1] = key
    end
end
if #entries < 1 or #entries > 100 then
    return { err = 'LKARG keys: expected 1 or 2 for each of 1 to 100 entries, got ' .. #KEYS }
end
if #ARGV ~= #entries then
    return { err = 'LKARG arguments: expected ' .. 4 * #entries .. ', got ' .. #ARGV }
end
local reply = { 'renewed ' .. now_text }
for at = 1, #entries do reply[at + 1] = renew(entries[at], second_keys[at], ARGV[at]) end
return reply
