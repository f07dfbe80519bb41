-- inspect: shows the holds and waiters. Writes nothing. SPEC 10.8.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  limit, packed (SPEC 11.5)
-- Reply the line `lock time`, then policy fence abandoned holders waiters hold-rows waiter-rows
--@include clock.lua
local unpacked, limit, rest = pcall(struct.unpack, '<d', #ARGV == 1 and ARGV[1] or '')
--@include arguments.lua
local wrong = keys_fault(1) or number_fault('limit', limit, 0, 100000, 'must be at most 100000')
local handle
--@include enter.lua
if fault then return { err = fault } end
--@include sorted.lua

local POLICIES = { 'fair', 'phase-fair', 'prefer-writer', 'prefer-reader' }
local holding, waiting = lock[HOLDS], lock[READERS] + lock[WRITERS] + (lock[UPGRADE] ~= '' and 1 or 0)
local abandoned = lock[MARK] > 0
if upgrade ~= '' then _, upgrade = ask.pair(upgrade) else upgrade = nil end

local function owner_of(record)
    return record[OWNER] ~= '' and record[OWNER] or record[HANDLE]
end

-- The holds and waiters that SPEC 5.2 would drop are left out, and the upgrade that goes with them (4.6).
local expired_holds, expired_waiters, of_upgrade = 0, 0, 0
for _, record in ipairs(lock[EXPIRED] or {}) do
    if record[KIND] == WAITER then
        expired_waiters = expired_waiters + 1
        if record == upgrade then upgrade = nil end
    elseif record[KIND] < WAITER then
        expired_holds = expired_holds + 1
        abandoned = abandoned or record[WRITES] > 0
    end
end
for _, hold in ipairs(upgrade and lock[EXPIRED] or {}) do
    if hold[KIND] < WAITER and owner_of(hold) == owner_of(upgrade) then
        of_upgrade = of_upgrade + (hold[HANDLE] == upgrade[HANDLE] and math.huge or 1)
    end
end
holding, waiting = holding - expired_holds, waiting - expired_waiters
if upgrade and of_upgrade >= ask.counts_of(upgrade) then upgrade, waiting = nil, waiting - 1 end

-- Returns the ms that are left to a record, and its age.
local function times_ms(record)
    return math.floor((record[DUE] - now) / 1000), math.max(0, math.floor((now - record[SINCE]) / 1000))
end

local hold_rows, found = {}, ask.sorted(HOLD, READ, DUE, limit + expired_holds)
for at = expired_holds + 1, #found do
    local its_hold = found[at]
    local left_ms, held_ms = times_ms(its_hold)
    hold_rows[#hold_rows + 1] = { its_hold[HANDLE], owner_of(its_hold), its_hold[GROUP], its_hold[READS],
        its_hold[WRITES], left_ms, held_ms, its_hold[FENCE], its_hold[KIND] == UNCLAIMED and 1 or 0, its_hold[WHO] }
end

-- SPEC 3.5: the waiters in order, without those that have expired.
local waiting_readers = ask.sorted(WAITER, READ, TICKET, limit + expired_waiters + 1)
local waiting_writers = ask.sorted(WAITER, WRITE, TICKET, limit + expired_waiters + 1)
--@include before.lua
local waiter_rows, list, shown, r, w = {}, { upgrade }, 0, 1, 1
while waiting_readers[r] or waiting_writers[w] do
    local reader, writer = waiting_readers[r], waiting_writers[w]
    if reader and reader[DUE] <= now then
        r = r + 1
    elseif writer and (writer[DUE] <= now or writer[HANDLE] == lock[UPGRADE]) then
        w = w + 1
    elseif reader and (not writer or (before and shown >= before)
        or (not before and reader[TICKET] < writer[TICKET])) then
        list[#list + 1], r = reader, r + 1
    else
        list[#list + 1], w, shown = writer, w + 1, shown + 1
    end
end

for at = 1, math.min(limit, #list) do
    local its_waiter = list[at]
    local left_ms, waited_ms = times_ms(its_waiter)
    waiter_rows[at] = { its_waiter[HANDLE], owner_of(its_waiter), its_waiter[GROUP], its_waiter == upgrade and 'upgrade'
        or its_waiter[WRITES] == READ and 'read' or 'write', left_ms, waited_ms, its_waiter[LAST_REQ], its_waiter[WHO] }
end

local alive = holding + waiting > 0
return { 'lock ' .. now_text, alive and POLICIES[lock[POLICY] + 1] or '',
    (alive or abandoned or lock[LAST_FENCE] > now) and lock[LAST_FENCE] or 0, abandoned and 1 or 0, holding,
    waiting, hold_rows, waiter_rows }
