-- release: releases one read or one write. SPEC 10.4.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  handle req fence mode told, packed (SPEC 11.5)
-- Reply released time reads writes · not-held time · stale time
--@include clock.lua
local unpacked, handle, req, fence, mode, told, rest = pcall(struct.unpack, '<sddBd', #ARGV == 1 and ARGV[1] or '')
unpacked = unpacked and rest == #ARGV[1] + 1
-- The check in short; arguments.lua says what is wrong.
if not (unpacked and #KEYS == 1 and #KEYS[1] <= 512 and string.find(KEYS[1], '^[^{}]+:{[^}%%%z][^%z]*}$')
    and req >= 1 and req <= MOST_NUMBER and req % 1 == 0 and fence >= 0 and fence <= MOST_NUMBER and fence % 1 == 0
    and mode <= 1 and (told == 0 or told == 1)) then
    --@include arguments.lua
    local fault = request_fault(5)
    fault = fault or handle_fault(handle) or number_fault('req', req, 1, MOST_NUMBER, 'must be at least 1')
        or number_fault('fence', fence, 0, MOST_NUMBER) or mode_fault(mode)
        or number_fault('told', told, 0, 1, 'must be 0 or 1')
    if fault then return { err = fault } end
end
--@include lone_release.lua
if #handle ~= 45 or not string.find(handle, '^[0-9a-f]+%-[0-9a-f]+$') or string.byte(handle, 33) ~= 45 then
    return { err = 'LKARG handle: must be 32 hex digits, a dash and 12 hex digits' }
end
--@include lock.lua
--@include reduce.lua
local fault = lk.begin(KEYS[1], KEYS[2], value)
if fault then return { err = fault } end
local hold, waiter = lk.pair(handle)
local refused = refuse(hold, waiter, BY_RELEASE, mode)
if not refused then
    reduce(hold, hold[READS] - 1 + mode, hold[WRITES] - mode, BY_RELEASE, told)
    if hold[READS] + hold[WRITES] == 0 then
        lk.hold_remove(hold)
        if lock[UPGRADE] ~= '' then
            -- SPEC 4.5: the upgrade of an owner without a hold becomes a writer-waiter with a new ticket.
            local _, upgrade = lk.pair(lock[UPGRADE])
            if lk.counts_of(upgrade) == 0 then
                lock[UPGRADE] = ''
                queue.add(upgrade, false)
            end
        end
    end
end
local answer = refused and refused ~= 'again' and refused .. now_text
    or 'released ' .. now_text .. string.format(' %d %d', hold[READS], hold[WRITES])
fault = lk.complete()
return fault and { err = fault } or answer
