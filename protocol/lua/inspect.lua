-- inspect: shows the holds and waiters. Writes nothing. SPEC 10.8.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  limit, packed (SPEC 11.5)
-- Reply the line `lock time`, then policy fence abandoned holders waiters hold-rows waiter-rows
--@include clock.lua
local unpacked, limit, rest = pcall(struct.unpack, '<d', #ARGV == 1 and ARGV[1] or '')
unpacked = unpacked and rest == #ARGV[1] + 1
--@include arguments.lua
local wrong = keys_fault(1) or number_fault('limit', limit, 0, 100000, 'must be at most 100000')
if wrong then return { err = wrong } end
local key, index_key, value = KEYS[1], KEYS[2], redis.pcall('GET', KEYS[1])
local handle
--@include lock.lua
--@include sorted.lua
--@include open.lua
if fault then return { err = fault } end

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
if upgrade and of_upgrade >= ask.counts_of(upgrade) then
    upgrade, waiting = nil, waiting - 1
end

local function left_ms(record)
    return math.floor((record[DUE] - now) / 1000)
end

local function age_ms(record)
    return math.max(0, math.floor((now - record[SINCE]) / 1000))
end

local function hold_rows()
    local rows, sorted = {}, ask.sorted(HOLD, READ, DUE, limit + expired_holds)
    for at = expired_holds + 1, #sorted do
        local hold = sorted[at]
        rows[#rows + 1] = { hold[HANDLE], owner_of(hold), hold[GROUP], hold[READS],
            hold[WRITES], left_ms(hold), age_ms(hold), hold[FENCE], hold[KIND] == UNCLAIMED and 1 or 0, hold[WHO] }
    end
    return rows
end

-- SPEC 3.5. Returns the waiters in order, without those that have expired.
local function in_order()
    local readers = ask.sorted(WAITER, READ, TICKET, limit + expired_waiters + 1)
    local writers = ask.sorted(WAITER, WRITE, TICKET, limit + expired_waiters + 1)
    --@include before.lua
    local shown, list, r, w = 0, { upgrade }, 1, 1
    while readers[r] or writers[w] do
        local reader, writer = readers[r], writers[w]
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
    return list
end

local function waiter_rows()
    local rows, list = {}, in_order()
    for at = 1, math.min(limit, #list) do
        local waiter = list[at]
        rows[at] = { waiter[HANDLE], owner_of(waiter), waiter[GROUP],
            waiter == upgrade and 'upgrade' or waiter[WRITES] == READ and 'read' or 'write', left_ms(waiter),
            age_ms(waiter), waiter[LAST_REQ], waiter[WHO] }
    end
    return rows
end

local alive = holding + waiting > 0
return { 'lock ' .. now_text, alive and POLICIES[lock[POLICY] + 1] or '',
    (alive or abandoned or lock[LAST_FENCE] > now) and lock[LAST_FENCE] or 0, abandoned and 1 or 0, holding,
    waiting, hold_rows(), waiter_rows() }
