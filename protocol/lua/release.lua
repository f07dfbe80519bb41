-- release: releases one read or one write. SPEC 10.4.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  handle req fence mode told, packed (SPEC 11.5)
-- Reply released time reads writes · not-held time · stale time
--@include clock.lua
local unpacked, handle, req, fence, mode, told, rest = pcall(struct.unpack, '<sddBd', #ARGV == 1 and ARGV[1] or '')
local key, index_key = KEYS[1], KEYS[2]

local function request_fault()
    --@include arguments.lua
    return keys_fault(5) or handle_fault(handle) or number_fault('req', req, 1, MOST_NUMBER, 'must be at least 1')
        or number_fault('fence', fence, 0, MOST_NUMBER) or mode > 1 and 'LKARG mode: must be read or write'
        or number_fault('told', told, 0, 1, 'must be 0 or 1')
end

-- The check in short. A key and a handle that are stored were checked: see below.
local wrong = not (unpacked and rest == #ARGV[1] + 1 and (#KEYS == 1 or #KEYS == 2 and index_key == key .. ':i')
    and req >= 1 and req <= MOST_NUMBER and req % 1 == 0 and fence >= 0 and fence <= MOST_NUMBER and fence % 1 == 0
    and mode <= 1 and (told == 0 or told == 1)) and request_fault()
if wrong then return { err = wrong } end
local value = redis.pcall('GET', key)
--@include lone_release.lua
--@include lock.lua
--@include open.lua
if not hold and not waiter then fault = request_fault() or fault end
--@include begin.lua
local by, gained = BY_RELEASE, 0
--@include reduce.lua
if not answer and hold[KIND] == GONE and lock[UPGRADE] ~= '' then
    local _, its_waiter = ask.pair(lock[UPGRADE])
    if ask.counts_of(its_waiter) == 0 then
        -- SPEC 4.5: the upgrade of an owner without a hold becomes a writer-waiter with a new ticket.
        lock[UPGRADE] = ''
        for at = #records, 1, -1 do
            if records[at] == its_waiter then table.remove(records, at) end
        end
        queue.add(its_waiter, false)
    end
end
answer = answer or 'released ' .. now_text .. (hold[KIND] == GONE and ' 0 0'
    or string.format(' %d %d', hold[READS], hold[WRITES]))
--@include complete.lua
return answer
