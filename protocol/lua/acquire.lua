-- acquire: takes the lock, or queues, or answers busy. SPEC 10.2.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  handle req fence mode wait lease_ms policy floor owner group who, packed (SPEC 11.5)
-- Reply granted time fence ms flags · queued time place ms · busy time ms · deadlock time ·
--       not-held time · stale time
--@include clock.lua
local unpacked, handle, req, fence, mode, wait, lease, policy, floor, owner, group, who, rest = pcall(struct.unpack,
    '<sddBddBdsss', #ARGV == 1 and ARGV[1] or '')
-- The check in short; arguments.lua says what is wrong.
local key, index_key = KEYS[1], KEYS[2]
if not (unpacked and rest == #ARGV[1] + 1 and (#KEYS == 1 or #KEYS == 2 and index_key == key .. ':i') and #key <= 512
    and string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$')
    and #handle == 45 and string.find(handle, '^[0-9a-f]+%-[0-9a-f]+$') and string.byte(handle, 33) == 45
    and req >= 1 and req <= MOST_NUMBER and req % 1 == 0 and fence >= 0 and fence <= MOST_NUMBER and fence % 1 == 0
    and mode <= 1 and (wait == 0 or wait == 1) and lease >= 100 and lease <= 86400000 and lease % 1 == 0 and policy <= 3
    and floor >= 0 and floor <= now and floor % 1 == 0 and #owner <= 128 and #group <= 64 and #who <= 255) then
    --@include arguments.lua
    local wrong = keys_fault(11) or handle_fault(handle)
        or number_fault('req', req, 1, MOST_NUMBER, 'must be at least 1')
        or number_fault('fence', fence, 0, MOST_NUMBER) or mode > 1 and 'LKARG mode: must be read or write'
        or number_fault('wait', wait, 0, 1, 'must be 0 or 1')
        or number_fault('lease_ms', lease, 100, 86400000, 'must be 100 to 86400000')
        or (policy > 3 and 'LKARG policy: must be fair, phase-fair, prefer-writer or prefer-reader')
        or number_fault('floor', floor, 0, now + 86400000000, "is more than a day ahead of the server's clock")
        or text_fault('owner', owner, 128) or text_fault('group', group, 64) or text_fault('who', who, 255)
    if wrong then return { err = wrong } end
end
if owner == handle then owner = '' end -- SPEC 1.3
lease = lease * 1000
--@include lone_take.lua
--@include lock.lua
may_be_refused = true
--@include open.lua
loses = fence == 0 and (hold or waiter)
--@include begin.lua
local answer, is_granted

-- SPEC 9.2, 9.4: the number alone decides the answer.
local last = math.max(hold and hold[LAST_REQ] or 0, waiter and waiter[LAST_REQ] or 0)
if waiter and waiter[LAST_REQ] == req then
    --@include waiter_renew.lua
    is_granted = not placed
elseif hold and (hold[GRANTED_FOR] == req or hold[LAST_REQ] == req and last == req and hold[BY] == BY_ACQUIRE) then
    is_granted = true
elseif req <= last then
    answer = 'stale ' .. now_text
elseif fence ~= 0 and not (hold and hold[FIRST_FENCE] <= fence and fence <= hold[FENCE]) then -- SPEC 9.5
    answer = 'not-held ' .. now_text
elseif fence == 0 and (hold or waiter) then -- SPEC 9.5: after this, the handle asks as a stranger
    if waiter then queue.remove(waiter) end
    losses.finish(hold and losses.lose(hold, now))
    losses.settle()
    hold = nil
end

if not answer and not placed and not is_granted then
    local fresh = { 0, handle, GONE, BY_ACQUIRE, 1 - mode, mode, 0, now, 0, 0, req, 0, 0, lease, owner, group, who }
    local is_compatible, of_owner = lk.is_compatible(hold or fresh, mode)
    local upgrades = mode == WRITE and of_owner > 0 -- SPEC 4.1
    is_granted = is_compatible and (mode == WRITE or of_owner > 0 -- SPEC 3.3, 3.4
        or lock[UPGRADE] == '' and lock[READERS] == 0
        and (lock[WRITERS] == 0 or lock[POLICY] == PREFER_READER)) -- SPEC 3.2, 4.2
    if is_granted and hold and hold[READS + mode] == DEEPEST then
        is_granted, fault = false, TOO_DEEP
    elseif not is_granted and upgrades and lock[UPGRADE] ~= '' then -- SPEC 4.4
        answer = 'deadlock ' .. now_text
    elseif not is_granted and wait == 0 then
        answer = string.format('busy %s %d', now_text, math.ceil((ask.earliest() - now) / 1000))
    else
        local full = lock[FORM] == INDEXED and indexed.full_error()
        if full then return { err = full } end
        if is_granted then
            local begins_life = lock[HOLDS] + lock[MISSES] == 0
            if begins_life then lock[POLICY] = policy end -- SPEC 3.1
            if queue then queue.unsettle() end
            if not hold then hold, records[#records + 1] = fresh, fresh end
            lk.give(hold, mode, req, floor, begins_life)
            if lock[WRITE_HOLDS] == 0 then lock[PHASE] = READ end -- SPEC 3.6
        else
            -- The lock stays settled: a waiter that is first and compatible would have been granted (SPEC 3.2, 3.3).
            if not queue then lk.make_queue() end
            if hold then fresh[OWNER], fresh[GROUP] = hold[OWNER], hold[GROUP] end -- SPEC 3.4
            fresh[DUE] = now + math.min(lease, LIVENESS) -- SPEC 5.4
            queue.add(fresh, upgrades)
            if floor > lock[LAST_FENCE] and floor > lock[FLOOR] then lock[FLOOR] = floor end -- SPEC 8.1
            placed = fresh
        end
    end
end
if is_granted then
    --@include claim.lua
    --@include granted.lua
elseif placed then
    --@include place.lua
    answer = string.format('queued %s %d %d', now_text, place, earliest_ms)
end
--@include complete.lua
return fault and { err = fault } or answer
