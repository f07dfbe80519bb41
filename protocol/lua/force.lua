-- force: drops the holds of one owner, or of everyone. SPEC 10.9.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  owner (empty: everyone), packed (SPEC 11.5)
-- Reply forced time count
--@include clock.lua
local unpacked, owner, rest = pcall(struct.unpack, '<s', #ARGV == 1 and ARGV[1] or '')
--@include arguments.lua
local wrong = keys_fault(1) or text_fault('owner', owner, 128)
local handle
--@include enter.lua
--@include sorted.lua
loses = true
--@include begin.lua
local forced, upgrade_too = 0, false
for _, hold in ipairs(ask.sorted(HOLD, READ, DUE, 1e9)) do
    if owner == '' or owner == (hold[OWNER] ~= '' and hold[OWNER] or hold[HANDLE]) then
        forced = forced + 1
        queue.tell(hold, 'lost ', 0, string.format('%.0f', hold[FENCE]), 0, 0)
        upgrade_too = losses.lose(hold, now) or upgrade_too
    end
end
losses.finish(upgrade_too)
--@include complete.lua
return string.format('forced %s %d', now_text, forced)
