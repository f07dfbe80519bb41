-- One lock: `open` reads it, an operation changes it in memory, `save` and `set` write it back.
--
-- The server makes the functions of a script anew at each call, and each local of an outer function that they
-- use costs time. So functions that several files use are fields of the table lk; they use only lk, lock and now,
-- and those that few requests need are made when they are needed: see make_index, make_queue and make_losses.
--@include codec.lua

-- In µs: SPEC 6.4, 5.3, 5.4.
--@constant HOUR 3600000000
--@constant CLAIM 1000000
--@constant LIVENESS 10000000

local lock -- the open lock (codec.lua)
local queue, grant, losses -- tables of functions, once they are made

-- Fields of lk, beside its functions:
--   key, index_key         of the open lock; index_key: nil if the request did not name it
--   stored                 the value of the first key; false: there is none
--   last_record            the last record in `lock`; below HEADER_LENGTH: there is none
--   expired                the records whose deadline has come, missed waiters too; nil: there is none
--   changed                whether there is anything to write
--   expires_ms             when the first key expires, as it was written
--   may_be_refused         a full server may refuse the operation; otherwise it must succeed (SPEC 11.3)
--   lines, clients         the messages: the lines for each client; the clients in the order of their first lines
--   granted_provisionally  by this operation (SPEC 5.5)
--   first_handle, first_req  of the waiter that was first before it
local lk

-- The value of the first key is not a lock of this version. Returns the error.
local function foreign_error(key, value)
    local earlier
    if type(value) == 'string' then
        earlier = string.find(value, '^lk%d') or string.find(value, '^[ahcx][rwb]%d%d %d+ ')
    elseif string.find(value.err, 'WRONGTYPE') then
        earlier = type(redis.pcall('HGET', key, 'fence')) == 'string'
    else
        return value.err -- the rights to it
    end
    if not earlier then return 'LKTYPE ' .. key .. ': holds another type of value than this lock' end
    return 'LKVERSION ' .. key .. ': holds a lock of another version of latchkey; stop the programs that '
        .. 'use that version, then delete the key'
end

lk = {
--@include packed.lua

-- Of a header and a number of records.
format = function(count)
    if count == 1 then return LONE_FORMAT end
    if count == 2 then return PAIR_FORMAT end
    return HEADER_FORMAT .. string.rep(RECORD_FORMAT, count)
end,

-- Writes the first key. `latest` is the latest deadline; 0: nobody holds or waits. Returns an error if there is
-- one. A full server refuses commands that need memory, unless the script has already run a write command. So
-- an operation that must succeed runs one that needs no memory.
set = function(value, latest)
    local marked = lock[MARK] > 0
    if latest > 0 and (marked or lock[WRITE_HOLDS] > 0) then latest = latest + HOUR end -- SPEC 7.3
    if marked and lock[MARK_UNTIL] > latest then latest = lock[MARK_UNTIL] end
    if lock[LAST_FENCE] > latest then latest = lock[LAST_FENCE] end
    local expires_ms = math.ceil(latest / 1000)
    local low = expires_ms % 1000000
    local digits = string.format('%d%06d', (expires_ms - low) / 1000000, low)
    lk.expires_ms = expires_ms
    local reply = redis.pcall('SET', lk.key, value, 'PXAT', digits)
    if not reply.err then return nil end
    if lk.may_be_refused then return string.match(reply.err, 'OOM .*') or reply.err end
    redis.pcall('LREM', lk.key, '0', '')
    redis.call('SET', lk.key, value, 'PXAT', digits)
end,

-- The functions of an indexed lock.
make_index = function()
    --@include indexed.lua
end,

-- Returns an error if there is one. Nothing has changed then. `value` is the value of the first key.
open = function(key, index_key, value)
    lk.key, lk.index_key, lk.stored = key, index_key, value
    lk.changed, lk.expired, lk.lines = false, nil, nil
    if lk.packed then lk.encode_as(lk.packed) end
    if not value then
        lock = { MAGIC, 0, 0, FAIR, READ, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '' }
        lk.last_record = HEADER_LENGTH - RECORD_LENGTH
        return nil
    end
    if type(value) ~= 'string' or string.sub(value, 1, 3) ~= MAGIC then return foreign_error(key, value) end
    local count = string.byte(value, COUNT_AT)
    lock = { struct.unpack(lk.format(count), value) }
    lk.last_record = HEADER_LENGTH + (count - 1) * RECORD_LENGTH
    if lock[INDEXED] == 1 then
        if not lk.packed then lk.make_index() end
        return lk.open_index()
    end
    for record = HEADER_LENGTH, lk.last_record, RECORD_LENGTH do
        if lock[record + DUE] <= now then
            lk.expired = lk.expired or {}
            lk.expired[#lk.expired + 1] = record
        end
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
