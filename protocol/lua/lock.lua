-- One lock: `open` reads it, an operation changes it in memory, `save` or `save_due` writes it back.
--
-- The server makes the functions of a script anew at each call, and each local of an outer function that they
-- use costs time. So functions that several files use are fields of the table lk; they use only lk, lock, records
-- and now, and those that few requests need are made when they are needed: see make_index, make_queue and
-- make_losses.
--@include codec.lua

-- In µs: SPEC 6.4, 5.3, 5.4.
--@constant HOUR 3600000000
--@constant CLAIM 1000000
--@constant LIVENESS 10000000

local lock, records -- the open lock (codec.lua); of an indexed lock, the records that were needed
local queue, grant, losses, indexed -- tables of functions, once they are made
local lk -- a table of functions, and:
--   may_be_refused         a full server may refuse the operation; otherwise it must succeed (SPEC 11.3)
--   expires_ms, digits     when the first key expires, as it was last written; the same as text

-- Fields of `lock` that belong to the operation; they are not stored:
--@constant CHANGED 22        whether there is anything to write, beside the deadline of MOVED
--@constant MOVED 23          the record whose deadline has moved, or nil
--@constant FIRST 24          the waiter that was first before the operation, or nil
--@constant HANDED_OVER 25    whether the operation granted provisionally (SPEC 5.5)
--@constant EXPIRED 26        the records whose deadline has come, missed waiters too; nil: there is none
--@constant MESSAGES 27       clients and lines, in turn; nil: there is none
--@constant KEY 28            the first key
--@constant INDEX_KEY 29      the second key; nil: the request did not name it
--@constant VALUE 30          the value of the first key; false: there is none

lk = {
may_be_refused = false,
expires_ms = 0,
digits = '0',
--@include packed.lua

-- The header of a packed lock with `count` records.
header = function(count)
    lock[COUNT] = count
    if lock[MARK] + lock[FLOOR] == 0 and lock[UPGRADE] == '' then
        lock[FORM] = PLAIN
        return struct.pack(PLAIN_FORMAT, unpack(lock, 1, PLAIN_LENGTH))
    end
    lock[FORM] = FULL
    return struct.pack(FULL_FORMAT, unpack(lock, 1, FULL_LENGTH))
end,

-- SPEC 7.3: when the first key expires, as text. `latest` is the latest deadline; 0: nobody holds or waits.
expiry = function(latest)
    local marked = lock[MARK] > 0
    if latest > 0 and (marked or lock[WRITE_HOLDS] > 0) then latest = latest + HOUR end
    if marked and lock[MARK_UNTIL] > latest then latest = lock[MARK_UNTIL] end
    if lock[LAST_FENCE] > latest then latest = lock[LAST_FENCE] end
    local expires_ms = math.ceil(latest / 1000)
    if expires_ms ~= lk.expires_ms then
        local low = expires_ms % 1000000
        lk.expires_ms, lk.digits = expires_ms, string.format('%d%06d', (expires_ms - low) / 1000000, low)
    end
    return lk.digits
end,

-- Runs a command that writes the first key. Returns an error if there is one. A full server refuses commands that
-- need memory, unless the script has already run a write command. So an operation that must succeed runs one
-- that needs no memory.
write = function(command, ...)
    local reply = redis.pcall(command, lock[KEY], ...)
    if type(reply) ~= 'table' or not reply.err then return nil end
    if lk.may_be_refused then return string.match(reply.err, 'OOM .*') or reply.err end
    redis.pcall('LREM', lock[KEY], '0', '')
    redis.call(command, lock[KEY], ...)
end,

-- The functions of an indexed lock.
make_index = function()
    --@include indexed.lua
end,

-- Returns an error if there is one. Nothing has changed then. `value` is the value of the first key.
open = function(key, index_key, value)
    local form, count, from = PLAIN, 0, 1
    local policy, phase, grouped, fence, ticket, group = FAIR, READ, 0, 0, 0, ''
    local floor, mark, mark_until, mark_of, upgrade = 0, 0, 0, 0, ''
    local holds, misses, read_holds, write_holds, readers, writers, latest = 0, 0, 0, 0, 0, 0, 0
    local _
    if value then
        if type(value) ~= 'string' or string.sub(value, 1, 3) ~= MAGIC then
            --@include foreign.lua
        end
        form, count = string.byte(value, FORM_AT, COUNT_AT)
        if form == PLAIN then
            _, _, _, policy, phase, grouped, fence, ticket, group, from = struct.unpack(PLAIN_FORMAT, value)
        elseif form == FULL then
            _, _, _, policy, phase, grouped, fence, ticket, group, floor, mark, mark_until, mark_of, upgrade, from =
                struct.unpack(FULL_FORMAT, value)
        else
            _, _, _, policy, phase, grouped, fence, ticket, group, floor, mark, mark_until, mark_of, upgrade, holds,
                misses, read_holds, write_holds, readers, writers, latest = struct.unpack(INDEXED_FORMAT, value)
        end
    end
    if indexed then indexed.use(indexed.packed) end
    local expired
    records = {}
    for at = 1, count do
        local record = { from, struct.unpack(RECORD_FORMAT, value, from) }
        local kind = record[KIND]
        records[at], from = record, record[STORED]
        if kind < WAITER then
            holds = holds + 1
            if record[READS] > 0 then read_holds = read_holds + 1 end
            if record[WRITES] > 0 then write_holds = write_holds + 1 end
        elseif kind == MISSED then
            misses = misses + 1
        elseif record[HANDLE] ~= upgrade then
            if record[WRITES] == 0 then readers = readers + 1 else writers = writers + 1 end
        end
        if record[DUE] <= now then
            expired = expired or {}
            expired[#expired + 1] = record
        end
    end
    lock = { MAGIC, form, count, policy, phase, grouped, fence, ticket, group, floor, mark, mark_until, mark_of,
        upgrade, holds, misses, read_holds, write_holds, readers, writers, latest, false, nil, nil, false, expired,
        nil, key, index_key, value }
    if form == INDEXED then
        if not indexed then lk.make_index() end
        return indexed.open()
    end
end,

-- SPEC 1.7, 7.1, 7.2.
life_end = function()
    lock[POLICY], lock[PHASE], lock[GROUPED], lock[READ_GROUP] = FAIR, READ, 0, ''
    lock[FLOOR], lock[LAST_TICKET], lock[MARK_OF] = 0, 0, 0
    if lock[MARK] == 0 and lock[LAST_FENCE] <= now then lock[LAST_FENCE] = 0 end
end,
--@include records.lua
--@include frame.lua
}
