-- release: give back one read or one write. SPEC 10.4.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode
-- Reply released time reads writes · not-held time · stale time
--@include lk.lua
--@include clock.lua

-- The uncontended way: good arguments, and the caller's is the only hold, with this one count.
-- The rest goes the long way below.
local function release_sole()
    if #KEYS ~= 4 or #ARGV ~= 4 then return end
    local key, handle = KEYS[1], ARGV[1]
    local client, req, fence, mode = string.match(table.concat(ARGV, ' '),
        '^([0-9a-f]+)%-[0-9a-f]+ (%d+) (%d+) (%l+)$')
    if not client or #client ~= 32 or #handle ~= 45 or #req > 15 or #fence > 16
        or (#fence == 16 and fence > '9007199254740992') or #key > 512
        or not string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$') or KEYS[2] ~= key .. ':d'
        or KEYS[3] ~= key .. ':r' or KEYS[4] ~= key .. ':w' then
        return
    end
    lk.now = lk.clock()
    local v = redis.pcall('HMGET', key, 'sole', 'due', 'mark', 'h:' .. handle)
    if v[1] ~= handle or tonumber(v[2]) <= lk.now or v[3] then return end
    local counts, present, first, last = string.match(v[4], '^(%d+ %d+) (%d+) (%d+) (%d+) ')
    fence = tonumber(fence)
    if ((mode == 'read' and counts == '1 0') or (mode == 'write' and counts == '0 1'))
        and tonumber(req) > tonumber(last) and fence >= tonumber(first)
        and fence <= tonumber(present) then
        redis.call('DEL', key)
        return { 'released', lk.now, 0, 0 }
    end
end

local released = release_sole()
if released then return released end
--@include prelude.lua

local request = lk.read_request({ 'handle', 'req', 'fence', 'mode' })
if not request then return { err = lk.fault } end
local handle, req, fence, mode = request.handle, request.req, request.fence, request.mode

lk.now = lk.now or lk.clock()
local wrong = lk.open(1, handle, handle, '')
if wrong then return { err = wrong } end
lk.begin()

local hold, waiter = lk.hold_of(handle), lk.waiter_of(handle)
local last = math.max(hold and hold.last or 0, waiter and waiter.req or 0) -- SPEC 9.1
if hold and req == last and req == hold.last and hold.op == 'r' then -- SPEC 9.3
    lk.finish()
    return { 'released', lk.now, hold.reads, hold.writes }
end
if req <= last then
    lk.finish()
    return { 'stale', lk.now }
end
if not hold or fence < hold.first or fence > hold.fence
    or (mode == 'read' and hold.reads or hold.writes) == 0 then
    lk.finish()
    return { 'not-held', lk.now }
end

hold.last, hold.op = req, 'r'
lk.hold_count(hold, mode == 'read' and -1 or 0, mode == 'write' and -1 or 0)
if mode == 'write' then lk.wrote(hold) end
if hold.reads == 0 and hold.writes == 0 then
    lk.hold_remove(hold)
    local up = lk.lock.up and lk.waiter_of(lk.lock.up)
    if up and lk.count('o:' .. up.owner) == 0 then -- SPEC 4.5
        lk.lock.up = nil
        lk.waiter_enqueue(up)
    end
end
lk.finish()
return { 'released', lk.now, hold.reads, hold.writes }
