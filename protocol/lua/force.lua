-- force: drops the holds of one owner, or of everyone. SPEC 10.9.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  owner (empty: everyone), packed (SPEC 11.5)
-- Reply forced time count
--@include clock.lua
local unpacked, owner, rest = pcall(struct.unpack, '<s', #ARGV == 1 and ARGV[1] or '')
unpacked = unpacked and rest == #ARGV[1] + 1
--@include arguments.lua
local fault = request_fault(1)
fault = fault or text_fault('owner', owner, 128)
if fault then return { err = fault } end
--@include lock.lua
--@include sorted.lua
fault = lk.begin(KEYS[1], KEYS[2], redis.pcall('GET', KEYS[1]))
if fault then return { err = fault } end
if not losses then lk.make_losses() end
local count, upgrade_too = 0, false
for _, hold in ipairs(lk.sorted(HOLD, READ, DUE, 1e9)) do
    if owner == '' or owner == (hold[OWNER] ~= '' and hold[OWNER] or hold[HANDLE]) then
        count = count + 1
        queue.tell(hold[HANDLE], string.format('lost %s 0 %.0f %s 0 0', hold[HANDLE], hold[FENCE], now_text))
        upgrade_too = losses.lose(hold, now) or upgrade_too
    end
end
losses.finish(upgrade_too)
fault = lk.complete()
return fault and { err = fault } or string.format('forced %s %d', now_text, count)
