-- force: drop the holds of one owner, or of everyone. SPEC 10.9.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  owner (empty: everyone)
-- Reply forced time count
--@include prelude.lua

lk.prefix = lk.check_keys()
if not lk.check_arguments(1) then return { err = lk.fault_text } end
local owner = ARGV[1]
lk.check_text('owner', owner, 128)
if lk.fault_text then return { err = lk.fault_text } end

lk.now = lk.clock()
local wrong = lk.open(1, '', owner, '')
if wrong then return { err = wrong } end
local lock = lk.lock
lk.begin()

-- Lines of a message begin with those of `lost`; what `begin` granted is told after them.
local told_before, clients_before = lk.told, lk.clients
lk.told, lk.clients = {}, {}

local forced = {}
if lock.shape == 'sole' then
    forced[1] = lock.sole
elseif lock.shape == 'full' then
    for _, member in ipairs(redis.call('ZRANGE', lk.due_key, 0, -1)) do
        if string.sub(member, 1, 1) == 'h' then forced[#forced + 1] = lk.hold_of(string.sub(member, 3)) end
    end
end
local count = 0
for _, hold in ipairs(forced) do
    if owner == '' or hold.owner == owner then
        count = count + 1
        lk.tell(hold.handle, string.format('lost %s 0 %.0f %.0f 0 0', hold.handle, hold.fence, lk.now))
        lk.drop_hold(hold, lk.now)
    end
end
for _, client in ipairs(clients_before) do
    for _, line in ipairs(told_before[client]) do lk.tell(client, line) end
end
lk.drop_upgrade()
lk.settle()
lk.finish()
return { 'forced', lk.now, count }
