-- acquire: takes the lock, or queues, or answers busy. SPEC 10.2.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  handle req fence mode wait lease_ms policy floor owner group who, packed (SPEC 11.5)
-- Reply granted time fence ms flags · queued time place ms · busy time ms · deadlock time ·
--       not-held time · stale time
--@include clock.lua
local unpacked, handle, req, fence, mode, wait, lease, policy, floor, owner, group, who, rest = pcall(struct.unpack,
    '<sddBddBdsss', #ARGV == 1 and ARGV[1] or '')
unpacked = unpacked and rest == #ARGV[1] + 1
-- The check in short; arguments.lua says what is wrong.
if not (unpacked and #KEYS == 1 and #KEYS[1] <= 512 and string.find(KEYS[1], '^[^{}]+:{[^}%%%z][^%z]*}$')
    and #handle == 45 and string.find(handle, '^[0-9a-f]+%-[0-9a-f]+$') and string.byte(handle, 33) == 45
    and req >= 1 and req <= MOST_NUMBER and req % 1 == 0 and fence >= 0 and fence <= MOST_NUMBER and fence % 1 == 0
    and mode <= 1 and (wait == 0 or wait == 1) and lease >= 100 and lease <= 86400000 and lease % 1 == 0 and policy <= 3
    and floor >= 0 and floor <= now and floor % 1 == 0 and #owner <= 128 and #group <= 64 and #who <= 255) then
    --@include arguments.lua
    local fault = request_fault(11)
    fault = fault or handle_fault(handle) or number_fault('req', req, 1, MOST_NUMBER, 'must be at least 1')
        or number_fault('fence', fence, 0, MOST_NUMBER) or mode_fault(mode)
        or number_fault('wait', wait, 0, 1, 'must be 0 or 1')
        or number_fault('lease_ms', lease, 100, 86400000, 'must be 100 to 86400000')
        or (policy > 3 and 'LKARG policy: must be fair, phase-fair, prefer-writer or prefer-reader')
        or number_fault('floor', floor, 0, now + 86400000000, "is more than a day ahead of the server's clock")
        or text_fault('owner', owner, 128) or text_fault('group', group, 64) or text_fault('who', who, 255)
    if fault then return { err = fault } end
end
if owner == handle then owner = '' end -- SPEC 1.3
lease = lease * 1000
--@include lone_take.lua
--@include lock.lua
lk.may_be_refused = true
lk.make_grant()
local fault = lk.begin(KEYS[1], KEYS[2], value)
if fault then return { err = fault } end

local hold, waiter = lk.pair(handle)
local answer, told, is_granted

-- SPEC 9.2, 9.4: the number alone decides the answer.
local last = math.max(hold and hold[LAST_REQ] or 0, waiter and waiter[LAST_REQ] or 0)
if waiter and waiter[LAST_REQ] == req then
    --@include waiter_renew.lua
    if waiter[KIND] < WAITER then hold, is_granted = waiter, true else told = waiter end
elseif hold and (hold[GRANTED_FOR] == req or hold[LAST_REQ] == req and last == req and hold[BY] == BY_ACQUIRE) then
    is_granted = true
elseif req <= last then
    answer = 'stale ' .. now_text
elseif fence ~= 0 and not (hold and hold[FIRST_FENCE] <= fence and fence <= hold[FENCE]) then -- SPEC 9.5
    answer = 'not-held ' .. now_text
elseif fence == 0 and (hold or waiter) then -- SPEC 9.5: after this, the handle asks as a stranger
    if not losses then lk.make_losses() end
    if waiter then queue.remove(waiter) end
    losses.finish(hold and losses.lose(hold, now))
    queue.settle()
    hold = nil
end

if not answer and not told and not is_granted then
    local fresh = { 0, handle, GONE, BY_ACQUIRE, 1 - mode, mode, 0, now, 0, 0, req, 0, 0, lease, owner, group, who }
    local asks = hold or fresh
    local owner_holds = lk.counts_of(asks) > 0
    local upgrades = mode == WRITE and owner_holds -- SPEC 4.1
    local may_pass = mode == WRITE or owner_holds -- SPEC 3.3, 3.4
        or (lock[UPGRADE] == '' and lock[READERS] == 0
            and (lock[WRITERS] == 0 or lock[POLICY] == PREFER_READER)) -- SPEC 3.2, 4.2
    if may_pass and grant.is_compatible(asks, mode) then
        if hold and hold[READS + mode] == DEEPEST then
            fault = TOO_DEEP
        elseif hold then
            grant.more(hold, mode, req, floor)
            is_granted = true
        else
            local full = lock[FORM] == INDEXED and indexed.full_error()
            if full then return { err = full } end
            local begins_life = lock[HOLDS] == 0 and lock[MISSES] == 0
            if begins_life then lock[POLICY] = policy end -- SPEC 3.1
            hold, records[#records + 1] = fresh, fresh
            grant.new(hold, HOLD, mode, req, floor, begins_life)
            is_granted = true
        end
        lk.phase_update()
    elseif upgrades and lock[UPGRADE] ~= '' then -- SPEC 4.4
        answer = 'deadlock ' .. now_text
    elseif wait == 0 then
        answer = string.format('busy %s %d', now_text, math.ceil((lk.earliest() - now) / 1000))
    else
        local full = lock[FORM] == INDEXED and indexed.full_error()
        if full then return { err = full } end
        if not queue then lk.make_queue() end
        if hold then fresh[OWNER], fresh[GROUP] = hold[OWNER], hold[GROUP] end -- SPEC 3.4
        fresh[DUE] = now + math.min(lease, LIVENESS) -- SPEC 5.4
        records[#records + 1] = fresh
        queue.add(fresh, upgrades)
        lock[FLOOR] = math.max(lock[FLOOR], floor) -- SPEC 8.1
        told = fresh
    end
end
if is_granted then
    lk.claim(hold, lease)
    answer = lk.granted(hold)
elseif told then
    answer = string.format('queued %s %d %d', now_text, queue.place(told), math.ceil((lk.earliest() - now) / 1000))
end
fault = lk.complete(told) or fault
return fault and { err = fault } or answer
