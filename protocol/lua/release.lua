-- release: give back one read or one write. SPEC 10.4.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode
-- Reply released time reads writes · not-held time · stale time
--@include lk.lua
--@include clock.lua

-- The uncontended way: good arguments, and the caller's is the only hold, with this one count. The rest goes the long way below.
if #KEYS == 4 and #ARGV == 4 then
    local key, handle = KEYS[1], ARGV[1]
    local client, req, fence, mode = string.match(table.concat(ARGV, ' '), '^([0-9a-f]+)%-[0-9a-f]+ (%d+) (%d+) (%l+)$')
    if client and #client == 32 and #handle == 45 and #req < 16
        and (#fence < 16 or (#fence == 16 and fence <= '9007199254740992')) and #key < 512
        and string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$')
        and KEYS[2] == key .. ':d' and KEYS[3] == key .. ':r' and KEYS[4] == key .. ':w' then
        local now = lk.clock()
        lk.now = now
        local v = redis.pcall('HMGET', key, 'sole', 'due', 'mark', 'h:' .. handle)
        if v[1] == handle and not v[3] and tonumber(v[2]) > now then
            local counts, present, first, last = string.match(v[4], '^(%d+ %d+) (%d+) (%d+) (%d+) ')
            fence = tonumber(fence)
            if ((mode == 'read' and counts == '1 0') or (mode == 'write' and counts == '0 1'))
                and tonumber(req) > tonumber(last) and fence >= tonumber(first) and fence <= tonumber(present) then
                redis.call('DEL', key)
                return { 'released', now, 0, 0 }
            end
        end
    end
end
--@include prelude.lua

lk.prefix = lk.check_keys()
if not lk.check_arguments(4) then return { err = lk.fault_text } end
local handle, mode = ARGV[1], ARGV[4]
lk.check_handle(handle)
local req = lk.to_request('req', ARGV[2])
local fence = lk.to_number('fence', ARGV[3])
lk.check_mode(mode)
if lk.fault_text then return { err = lk.fault_text } end

lk.now = lk.now or lk.clock()
local wrong = lk.open(1, handle, handle, '')
if wrong then return { err = wrong } end
lk.begin()

local hold, waiter = lk.hold_of(handle), lk.waiter_of(handle)
local answer
if hold and req == hold.last and hold.op == 'r' then -- SPEC 9.3
    answer = 'released'
elseif (hold and req <= hold.last) or (waiter and req <= waiter.req) then
    answer = 'stale'
elseif not hold or fence < hold.first or fence > hold.fence
    or (mode == 'read' and hold.reads or hold.writes) == 0 then
    answer = 'not-held'
end
if answer then
    lk.finish()
    if answer == 'released' then return { answer, lk.now, hold.reads, hold.writes } end
    return { answer, lk.now }
end

hold.last, hold.op = req, 'r'
lk.hold_count(hold, mode == 'read' and -1 or 0, mode == 'write' and -1 or 0)
local over = hold.reads == 0 and hold.writes == 0
if mode == 'write' and hold.writes == 0 then lk.clear_mark(hold) end
if over then
    lk.hold_remove(hold)
    lk.release_upgrade()
end
lk.settle()
lk.finish()
return { 'released', lk.now, hold.reads, hold.writes }
