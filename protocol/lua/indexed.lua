-- An indexed lock: the first key has the header alone; the second key is a sorted set, the index. It has
-- the functions of packed.lua. A record is up to three members of the index; a count is one. Each kind of
-- member has a range of scores of its own:
--
--   member      score
--   m<handle>   -4e15 - due     of a missed waiter
--   w<handle>   -due            of a waiter
--   .           0               always there: so no command empties the index (SPEC 11.7)
--   h<handle>   due             of a hold
--   q<handle>   4e15 + ticket   of a waiting reader
--   q<handle>   5e15 + ticket   of a waiting writer; the upgrade has none
--   <record>    6e15 + slot     its bytes (codec.lua); its slot follows from its handle
--   o<owner>    8e15 + count    holds of an owner, without the handle that is its own owner
--   g<group>    8e15 + count    read holds of a group
--
-- So the deadlines that come next, of holds and of waiters, are side by side around 0. The index expires
-- with the first key, or LIVENESS after the latest deadline: then no grant can be missed any more (SPEC 5.6). The
-- first key may live for another hour, because it has the mark (SPEC 7.3).
--@constant MISSED_DUES 4e15
--@constant QUEUES 4e15
--@constant QUEUE 1e15
--@constant COUNTS 8e15
local index
local known -- for each handle whose records were read: its slot
local heads -- for each mode: the members of the next waiters, in order
local stored -- for each record: what the index has of it (state_of)
local latest_is_gone -- whether the record with the latest deadline has changed

-- Returns digits. They follow from the last bytes of the client and of the number, so several handles may share a
-- slot; that is rare.
local function slot(handle)
    local client, number = struct.unpack('<I4xxxxxxxxxI4', handle, 29)
    return string.format('6%07d%08d', client % 10000000, number % 100000000)
end

-- Returns the bytes of a record, the letter of its deadline, whether it has a ticket in the queue, the members of its
-- owner and of its group, and the deadline; nil for what it has not.
local function state_of(record, bytes)
    local kind = record[KIND]
    if kind == GONE then return {} end
    local holds = kind < WAITER
    return { bytes or struct.pack(RECORD_FORMAT, unpack(record, RECORD_FROM, RECORD_TO)),
        holds and 'h' or kind == WAITER and 'w' or 'm',
        kind == WAITER and lock[UPGRADE] ~= record[HANDLE] or nil,
        holds and record[OWNER] ~= '' and 'o' .. record[OWNER] or nil,
        holds and record[READS] > 0 and 'g' .. record[GROUP] or nil, kind ~= MISSED and record[DUE] or nil }
end

-- Writes the records that have changed.
local function flush()
    local gone, words, steps = {}, {}, nil
    for at = 1, #records do
        local record = records[at]
        if not record[STORED] then
            local handle, kind, due = record[HANDLE], record[KIND], record[DUE]
            local was, is = stored[record] or {}, state_of(record)
            if was[1] and was[1] ~= is[1] then gone[#gone + 1] = was[1] end
            if was[2] and was[2] ~= is[2] then gone[#gone + 1] = was[2] .. handle end
            if was[3] and not is[3] then gone[#gone + 1] = 'q' .. handle end
            if is[1] and is[1] ~= was[1] then
                words[#words + 1], words[#words + 2] = known[handle] or slot(handle), is[1]
            end
            if is[2] then
                words[#words + 1] = kind < WAITER and due or kind == WAITER and -due or -MISSED_DUES - due
                words[#words + 1] = is[2] .. handle
            end
            if is[3] and not was[3] then
                words[#words + 1], words[#words + 2] = QUEUES + record[WRITES] * QUEUE + record[TICKET], 'q' .. handle
            end
            for part = 4, 5 do
                if was[part] ~= is[part] then
                    steps = steps or {}
                    if was[part] then steps[was[part]] = (steps[was[part]] or 0) - 1 end
                    if is[part] then steps[is[part]] = (steps[is[part]] or 0) + 1 end
                end
            end
            latest_is_gone = latest_is_gone or was[6] == lock[LATEST] and is[6] ~= was[6]
            if is[6] and is[6] > lock[LATEST] then lock[LATEST] = is[6] end
            stored[record], record[STORED] = is, true
        end
    end
    for member, step in pairs(steps or {}) do
        local score = step ~= 0 and (redis.call('ZSCORE', index_key, member) or COUNTS) + step
        if score == COUNTS then
            gone[#gone + 1] = member
        elseif score then
            words[#words + 1], words[#words + 2] = score, member
        end
    end
    if #words > 0 and #gone == 0 and not may_be_refused then gone[1] = '' end -- a full server: see save.lua
    -- unpack can return only a few thousand values.
    for at = 1, #gone, 1000 do redis.call('ZREM', index_key, unpack(gone, at, math.min(at + 999, #gone))) end
    for at = 1, #words, 1000 do redis.call('ZADD', index_key, unpack(words, at, math.min(at + 999, #words))) end
end

-- Returns the earliest and the latest deadline of the holds that were read; nil if there are others.
local function dues_of_holds()
    local count, earliest, latest = 0, math.huge, 0
    for at = 1, #records do
        local record = records[at]
        if record[KIND] < WAITER then
            count, earliest, latest = count + 1, math.min(earliest, record[DUE]), math.max(latest, record[DUE])
        end
    end
    if count == lock[HOLDS] then return earliest, latest end
end

-- Returns the first deadline of a range; nil: there is none.
local function first_due(command, from, to)
    local found = redis.call(command, index_key, from, to, 'WITHSCORES', 'LIMIT', '0', '1')
    return found[2] and math.abs(found[2])
end

local function queue_members(mode, limit)
    return redis.call('ZRANGEBYSCORE', index_key, mode == READ and '4e15' or '5e15',
        mode == READ and '(5e15' or '(6e15', 'LIMIT', '0', limit)
end

-- Makes records of members of deadlines or tickets.
local function records_of(members)
    local found = {}
    for _, member in ipairs(members) do
        if member ~= '.' then
            local hold, waiter = index.pair(string.sub(member, 2))
            found[#found + 1] = string.sub(member, 1, 1) == 'h' and hold or waiter
        end
    end
    return found
end

index = {

pair = function(handle)
    if not known[handle] then
        local at = slot(handle)
        known[handle] = at
        for _, bytes in ipairs(redis.call('ZRANGEBYSCORE', index_key, at, at)) do
            local record = { 0, struct.unpack(RECORD_FORMAT, bytes) }
            if record[HANDLE] == handle then
                records[#records + 1], stored[record] = record, state_of(record, bytes)
            end
        end
    end
    return packed.pair(handle)
end,

counts_of = function(like, mode)
    if dues_of_holds() then return packed.counts_of(like) end
    local owner = like[OWNER] ~= '' and like[OWNER] or like[HANDLE]
    local own = #owner == 45 and index.pair(owner) -- an owner may be a handle
    flush()
    local of_owner = redis.call('ZSCORE', index_key, 'o' .. owner) or COUNTS
    local of_group = mode == READ and redis.call('ZSCORE', index_key, 'g' .. like[GROUP]) or COUNTS
    return of_owner - COUNTS + (own and own[OWNER] == '' and 1 or 0), of_group - COUNTS
end,

-- Only the first waiters leave the queue, and only a client that comes back (SPEC 5.6) gets in before others. Its
-- record was read then.
head = function(mode)
    local _, first
    repeat
        if not heads[mode] or not heads[mode][1] then
            flush()
            heads[mode] = queue_members(mode, '2')
        end
        _, first = index.pair(string.sub(heads[mode][1], 2))
        if not first or first[KIND] ~= WAITER then table.remove(heads[mode], 1) end
    until first and first[KIND] == WAITER
    for _, record in ipairs(records) do
        if record[KIND] == WAITER and record[WRITES] == mode and record[TICKET] < first[TICKET]
            and record[HANDLE] ~= lock[UPGRADE] then
            first = record
        end
    end
    return first
end,

rank = function(mode, ticket)
    flush()
    local from = QUEUES + mode * QUEUE
    return redis.call('ZCOUNT', index_key, from, from + ticket - 1)
end,

earliest = function()
    flush()
    local of_holds = dues_of_holds() or first_due('ZRANGEBYSCORE', '(0', '(4e15') or math.huge
    return math.min(of_holds, first_due('ZREVRANGEBYSCORE', '(0', '(-4e15') or of_holds)
end,

sorted = function(kind, mode, _, limit)
    flush()
    return records_of(kind == HOLD and redis.call('ZRANGEBYSCORE', index_key, '(0', '(4e15', 'LIMIT', '0', limit)
        or queue_members(mode, limit))
end,
}

indexed = {

begin = function()
    known, heads, stored, latest_is_gone, ask = {}, {}, {}, false, index
end,

records_of = records_of,

-- Returns the members that have expired, with the one that is always there; or a table with an error.
expired_members = function()
    if not index_key then
        return { err = 'LKKEYS ' .. key .. ': the lock has many holds and waiters; pass its second key, too' }
    end
    local found = redis.pcall('ZRANGEBYSCORE', index_key, '-' .. now_text, now_text)
    if found.err and string.find(found.err, 'WRONGTYPE') then -- otherwise it is the rights to it
        found.err = 'LKTYPE ' .. index_key .. ': holds another type of value than this lock'
    end
    return found
end,

-- A full server refuses a command that adds nothing, too, unless the script has changed something. Returns its
-- error, or nil.
full_error = function()
    local reply = may_be_refused and redis.pcall('ZADD', index_key, 'XX', '0', '')
    return type(reply) == 'table' and (string.match(reply.err, 'OOM .*') or reply.err) or nil
end,

-- Writes the records. Returns the latest deadline.
save = function()
    flush()
    if latest_is_gone then
        local _, of_holds = dues_of_holds()
        lock[LATEST] = math.max(of_holds or first_due('ZREVRANGEBYSCORE', '(4e15', '(0') or 0,
            first_due('ZRANGEBYSCORE', '(-4e15', '(0') or 0)
    end
    return lock[LATEST]
end,
}
