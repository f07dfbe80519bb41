-- An indexed lock: the first key has the header alone; the second key is a sorted set, the index. It has
-- the functions of packed.lua. A record is up to three members of the index; a count is one. Each kind of
-- member has a range of scores of its own:
--
--   member      score
--   m<handle>   -4e15 - due     of a missed waiter
--   w<handle>   -due            of a waiter
--   h<handle>   due             of a hold
--   q<handle>   4e15 + ticket   of a waiting reader
--   q<handle>   5e15 + ticket   of a waiting writer; the upgrade has none
--   <record>    6e15 + slot     its bytes (codec.lua); its slot follows from its handle
--   o<owner>    8e15 + count    holds of an owner, without the handle that is its own owner
--   g<group>    8e15 + count    read holds of a group
--   .           8e15 + 1        always there: so no command empties the index (SPEC 11.7)
--
-- So the deadlines that come next, of holds and of waiters, are side by side around 0. The index expires
-- with the first key, or LIVENESS after the latest deadline: then no grant can be missed any more (SPEC 5.6). The
-- first key may live for another hour, because it has the mark (SPEC 7.3).
--@constant DUES 4e15
--@constant QUEUES 4e15
--@constant QUEUE 1e15
--@constant RECORDS 6e15
--@constant COUNTS 8e15
local index = {}
local holds, waiters -- the records that were read, by handle; false: there is none
local counts -- those that were read, by member
local touched, recounted -- records and members that are not written yet
local members -- of each record that was read: its bytes, the member of its deadline, that of its ticket

-- Returns digits. Several handles may share a slot, but that is rare.
local function slot(handle)
    return string.format('%.0f', RECORDS + tonumber(string.sub(handle, 26, 32), 16) * 4194304
        + tonumber(string.sub(handle, 40, 45), 16) % 4194304)
end

local function range(from, to, ...)
    return redis.call('ZRANGEBYSCORE', lk.index_key, from, to, ...)
end

-- The three members of a record; nil for those that it has not.
local function members_of(record, bytes)
    local kind, handle = lock[record + KIND], lock[record + HANDLE]
    if kind == GONE then return {} end
    return { bytes or struct.pack(ONE_RECORD_FORMAT, unpack(lock, record + 1, record + RECORD_LENGTH)),
        (kind == HOLD and 'h' or kind == WAITER and 'w' or 'm') .. handle,
        kind == WAITER and lock[UPGRADE] ~= handle and 'q' .. handle or nil }
end

function index.pair(handle)
    if holds[handle] == nil then
        holds[handle], waiters[handle] = false, false
        local at = slot(handle)
        for _, bytes in ipairs(range(at, at)) do
            local fields, record = { struct.unpack(ONE_RECORD_FORMAT, bytes) }, lk.last_record + RECORD_LENGTH
            lk.last_record = record
            for field = 1, RECORD_LENGTH do lock[record + field] = fields[field] end
            if lock[record + HANDLE] == handle then
                members[record] = members_of(record, bytes)
                local of_kind = lock[record + KIND] == HOLD and holds or waiters
                of_kind[handle] = record
            end
        end
    end
    return holds[handle] or nil, waiters[handle] or nil
end

local function count(member)
    if not counts[member] then
        counts[member] = (redis.call('ZSCORE', lk.index_key, member) or COUNTS) - COUNTS
    end
    return counts[member]
end

function index.counts_of(like)
    local owner = lock[like + OWNER] ~= '' and lock[like + OWNER] or lock[like + HANDLE]
    local own = #owner == 45 and string.find(owner, '^[0-9a-f]+%-[0-9a-f]+$') and index.pair(owner)
    return count('o' .. owner) + (own and lock[own + OWNER] == '' and 1 or 0), count('g' .. lock[like + GROUP])
end

-- The number of holds of an owner, or of read holds of a group, changes.
function lk.recount(member, step)
    counts[member], recounted[member] = count(member) + step, true
end

-- A full server refuses a command that adds nothing, too, unless the script has changed something. Returns its
-- error, or nil.
function lk.full_error()
    local reply = lk.may_be_refused and redis.pcall('ZADD', lk.index_key, 'XX', '0', '')
    return type(reply) == 'table' and (string.match(reply.err, 'OOM .*') or reply.err) or nil
end

function lk.touch(record)
    local handle, kind = lock[record + HANDLE], lock[record + KIND]
    if holds[handle] == record then holds[handle] = false end
    if waiters[handle] == record then waiters[handle] = false end
    if kind ~= GONE then
        local of_kind = kind == HOLD and holds or waiters
        of_kind[handle] = record
    end
    touched[#touched + 1] = record
end

-- unpack can return only a few thousand values.
local function call_with(command, words)
    for at = 1, #words, 1000 do
        redis.call(command, lk.index_key, unpack(words, at, math.min(at + 999, #words)))
    end
end

local function write_record(record, gone, words)
    local before, after = members[record] or {}, members_of(record)
    if before[1] == after[1] and before[3] == after[3] then return end
    local due = lock[record + DUE]
    local scores = { slot(lock[record + HANDLE]),
        lock[record + KIND] == HOLD and due or lock[record + KIND] == WAITER and -due or -DUES - due,
        QUEUES + lock[record + MODE] * QUEUE + lock[record + TICKET] }
    for at = 1, 3 do
        if before[at] and before[at] ~= after[at] then gone[#gone + 1] = before[at] end
        if after[at] then words[#words + 1], words[#words + 2] = scores[at], after[at] end
    end
    members[record] = after
end

local function flush()
    if #touched == 0 and not next(recounted) then return end
    local gone, words = {}, {}
    for at = 1, #touched do write_record(touched[at], gone, words) end
    for member in pairs(recounted) do
        if counts[member] > 0 then
            words[#words + 1], words[#words + 2] = COUNTS + counts[member], member
        else
            gone[#gone + 1] = member
        end
    end
    touched, recounted = {}, {}
    if not lk.may_be_refused and #gone == 0 then gone[1] = '' end -- see lk.set
    call_with('ZREM', gone)
    call_with('ZADD', words)
end

-- Makes records of the members of deadlines or tickets.
local function records_of(found)
    for at, member in ipairs(found) do
        local hold, waiter = index.pair(string.sub(member, 2))
        found[at] = string.sub(member, 1, 1) == 'h' and hold or waiter
    end
    return found
end

function index.head(mode, ticket)
    flush()
    local from = QUEUES + mode * QUEUE
    if ticket then return nil, redis.call('ZCOUNT', lk.index_key, from, from + ticket - 1) end
    return records_of(range(from, from + QUEUE - 1, 'LIMIT', '0', '1'))[1]
end

-- Returns the first deadline of a range; nil: there is none.
local function first_due(command, from, to)
    local found = redis.call(command, lk.index_key, from, to, 'WITHSCORES', 'LIMIT', '0', '1')
    return found[2] and math.abs(found[2])
end

function index.earliest()
    flush()
    local of_holds = first_due('ZRANGEBYSCORE', '0', '(4e15') or math.huge
    return math.min(of_holds, lk.waits() and first_due('ZREVRANGEBYSCORE', '0', '(-4e15') or of_holds)
end

local function latest()
    flush()
    local of_holds = first_due('ZREVRANGEBYSCORE', '(4e15', '0') or 0
    return math.max(of_holds, lk.waits() and first_due('ZRANGEBYSCORE', '(-4e15', '0') or 0)
end

function index.sorted(kind, mode, _, limit)
    flush()
    local from, to = 0, DUES - 1
    if kind == WAITER then
        from = QUEUES + mode * QUEUE
        to = from + QUEUE - 1
    end
    return records_of(range(from, to, 'LIMIT', 0, limit))
end

function index.save()
    local last_due = latest()
    local count = lock[HOLDS] + lock[READERS] + lock[WRITERS] + lock[MISSES] + (lock[UPGRADE] ~= '' and 1 or 0)
    lock[INDEXED], lock[LATEST], lock[COUNT] = 1, last_due, 0
    if count <= FEW then lock[INDEXED], lock[COUNT] = 0, count end
    local header = struct.pack(HEADER_FORMAT, unpack(lock, 1, HEADER_LENGTH))
    if count > FEW then
        lk.set(header, last_due)
        local expires_ms = math.min(lk.expires_ms, math.ceil((last_due + LIVENESS) / 1000))
        redis.call('PEXPIREAT', lk.index_key, string.format('%.0f', expires_ms))
    else
        lk.set(header .. table.concat(range('6e15', '(8e15')), last_due)
        redis.call('DEL', lk.index_key)
    end
end

local function reset()
    holds, waiters, counts, members, touched, recounted = {}, {}, {}, {}, {}, {}
end

-- Returns the size of the index, or nil and an error.
local function size()
    local key = lk.index_key
    if not key then
        return nil, 'LKKEYS ' .. lk.key .. ': the lock has many holds and waiters; pass its second key, too'
    end
    local found = redis.pcall('ZCARD', key)
    if type(found) == 'number' then return found end
    if not string.find(found.err, 'WRONGTYPE') then return nil, found.err end -- the rights to it
    return nil, 'LKTYPE ' .. key .. ': holds another type of value than this lock'
end

-- Each encoding has its own functions for the same questions.
lk.packed = {}
for name in pairs(index) do lk.packed[name] = lk[name] end

function lk.encode_as(functions)
    for name, made in pairs(functions) do lk[name] = made end
end

-- Returns an error if there is one.
function lk.open_index()
    local there, fault = size()
    if fault then return fault end
    if there > 0 then
        reset()
        lk.encode_as(index)
        local expired = range('-' .. now_text, now_text)
        if lock[MISSES] > 0 then
            for _, member in ipairs(range(-DUES - now, -DUES)) do expired[#expired + 1] = member end
        end
        lk.expired = expired[1] and records_of(expired)
        return nil
    end
    -- Every hold and every waiter expired so long ago that the index has expired, too.
    local bare, mark = { MAGIC, 0, 0, FAIR, READ, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '' }, lock[MARK]
    if lock[WRITE_HOLDS] > 0 then mark = lock[LAST_FENCE] end -- SPEC 6.1
    bare[LAST_FENCE], bare[MARK] = lock[LAST_FENCE], mark
    bare[MARK_UNTIL] = math.max(lock[MARK] > 0 and lock[MARK_UNTIL] or 0, lock[LATEST] + HOUR) -- SPEC 6.4
    lock, lk.last_record, lk.changed = bare, HEADER_LENGTH - RECORD_LENGTH, true
end

local function recount_new(member)
    counts[member], recounted[member] = (counts[member] or 0) + 1, true
end

-- A packed lock has too many records. An index that is there belongs to a lock that is gone. It is not deleted
-- and written in one call: in a slot that is being moved, that write would fail.
function lk.grow()
    local there, fault = size()
    if fault then return fault end
    if there > 0 then
        redis.call('DEL', lk.index_key)
        return 'LKKEYS ' .. lk.key .. ': ask again'
    end
    fault = lk.full_error()
    if fault then return fault end
    reset()
    counts['.'], recounted['.'] = 1, true
    for record = HEADER_LENGTH, lk.last_record, RECORD_LENGTH do
        members[record] = {}
        if lock[record + KIND] ~= GONE then touched[#touched + 1] = record end
        if lock[record + KIND] == HOLD and lock[record + OWNER] ~= '' then recount_new('o' .. lock[record + OWNER]) end
        if lock[record + KIND] == HOLD and lock[record + READS] > 0 then recount_new('g' .. lock[record + GROUP]) end
    end
    lk.encode_as(index)
    return index.save()
end
