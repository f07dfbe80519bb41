-- release: give back one read or one write. SPEC 10.4.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  handle req fence mode
-- Reply released time reads writes · not-held time · stale time
--@include lk.lua
--@include clock.lua

-- The uncontended way: good arguments, and the caller's is the only hold, with this one count.
-- The rest goes the long way below.
local function release_sole()
    lk.now = lk.clock()
    if #KEYS ~= 4 or #ARGV ~= 4 then return end
    local key, handle = KEYS[1], ARGV[1]
    local v = redis.pcall('HMGET', key, 'sole', 'due', 'mark', 'h:' .. handle)
    if v[1] ~= handle or tonumber(v[2]) <= lk.now or v[3] then return end
    local client, req, fence, mode = string.match(table.concat(ARGV, ' '),
        '^([0-9a-f]+)%-[0-9a-f]+ (%d+) (%d+) (%l+)$')
    if not client or #client ~= 32 or #handle ~= 45 or #req > 15 or #fence > 16
        or (#fence == 16 and fence > '9007199254740992') or #key > 512
        or not string.find(key, '^[^{}]+:{[^}%%%z][^%z]*}$') or KEYS[2] ~= key .. ':d'
        or KEYS[3] ~= key .. ':r' or KEYS[4] ~= key .. ':w' then
        return
    end
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

local function decide(request, hold, waiter)
    local seen, reads = lk.seen(request, hold, waiter, 'r'), request.mode == 'read'
    if seen == 'again' then return { 'released', lk.now, hold.reads, hold.writes } end
    if seen then return { 'stale', lk.now } end
    if not lk.means(hold, request.fence) or (reads and hold.reads or hold.writes) == 0 then
        return { 'not-held', lk.now }
    end
    hold.last, hold.op = request.req, 'r'
    lk.hold_count(hold, reads and -1 or 0, reads and 0 or -1)
    if not reads then lk.wrote(hold) end
    if hold.reads == 0 and hold.writes == 0 then
        lk.hold_remove(hold)
        local up = lk.lock.up and lk.waiter_of(lk.lock.up)
        if up and lk.count('o:' .. up.owner) == 0 then -- SPEC 4.5
            lk.lock.up = nil
            lk.waiter_enqueue(up)
        end
    end
    return { 'released', lk.now, hold.reads, hold.writes }
end

return lk.run({ 'handle', 'req', 'fence', 'mode' }, decide)
