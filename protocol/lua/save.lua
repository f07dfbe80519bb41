-- Writes the open lock. A full server may refuse this; nothing has changed then.
local bytes, latest, was_indexed = nil, 0, lock[FORM] == INDEXED
if lock[HOLDS] == 0 then -- SPEC 7.1, 7.2
    if lock[MARK] > 0 or lock[LAST_FENCE] > now then
        bytes = struct.pack(FULL_FORMAT, MAGIC, FULL, 0, FAIR, READ, 0, lock[LAST_FENCE], 0, '', 0, lock[MARK],
            lock[MARK_UNTIL], 0, '')
    end
else
    local number = lock[HOLDS] + lock[READERS] + lock[WRITERS] + lock[MISSES] + (lock[UPGRADE] ~= '' and 1 or 0)
    if was_indexed and number <= FEW then
        --@include shrink.lua
    elseif not was_indexed and number > MOST then
        --@include grow.lua
    end
    if lock[FORM] == INDEXED then
        latest = indexed.save()
        bytes = struct.pack(INDEXED_FORMAT, MAGIC, INDEXED, 0, unpack(lock, 1, INDEXED_TO))
    else
        -- Records that have not changed are copied from the value that was read, side by side.
        local pieces, start, stop = lock[CHANGED] and { '' }, 0, 0
        for at = 1, #records do
            local record = records[at]
            if record[KIND] < MISSED and record[DUE] > latest then latest = record[DUE] end
            if pieces and record[KIND] ~= GONE then
                local its_stop = record[STORED]
                if its_stop and record[START] == stop then
                    stop = its_stop
                else
                    if stop > 0 then pieces[#pieces + 1] = string.sub(value, start, stop - 1) end
                    start, stop = record[START], its_stop or 0
                    if not its_stop then
                        pieces[#pieces + 1] = struct.pack(RECORD_FORMAT, unpack(record, RECORD_FROM, RECORD_TO))
                    end
                end
            end
        end
        if pieces then
            if stop > 0 then pieces[#pieces + 1] = string.sub(value, start, stop - 1) end
            if lock[MARK] + lock[FLOOR] == 0 and lock[UPGRADE] == '' then
                pieces[1] = struct.pack(PLAIN_FORMAT, MAGIC, PLAIN, number, unpack(lock, 1, PLAIN_TO))
            else
                pieces[1] = struct.pack(FULL_FORMAT, MAGIC, FULL, number, unpack(lock, 1, FULL_TO))
            end
            bytes = table.concat(pieces)
        end
    end
end

-- SPEC 7.3: when the first key expires.
if latest > 0 and (lock[MARK] > 0 or lock[WRITE_HOLDS] > 0) then latest = latest + HOUR end
if lock[MARK] > 0 and lock[MARK_UNTIL] > latest then latest = lock[MARK_UNTIL] end
if lock[LAST_FENCE] > latest then latest = lock[LAST_FENCE] end
if latest ~= expires_at then
    local ms = math.ceil(latest / 1000)
    expires_at, expires = latest, string.format('%d%06d', math.floor(ms / 1000000), ms % 1000000)
end

local refused
if bytes then
    refused = redis.pcall('SET', key, bytes, 'PXAT', expires).err
elseif not lock[CHANGED] then -- only the deadline of MOVED
    local moved = lock[MOVED]
    if moved[START] ~= due_start then
        due_start, due_offset = moved[START], string.format('%d', moved[START] + DUE_AT - 1)
    end
    if moved[DUE] ~= due then due, due_bytes = moved[DUE], struct.pack('<d', moved[DUE]) end
    local reply = redis.pcall('SETRANGE', key, due_offset, due_bytes)
    refused = reply ~= #value and reply.err
elseif value then
    redis.call('DEL', key)
end
if refused then
    if may_be_refused then return { err = string.match(refused, 'OOM .*') or refused } end
    -- A full server refuses commands that need memory, unless the script has already run a write command. This one
    -- needs none.
    redis.pcall('LREM', key, '0', '')
    if bytes then
        redis.call('SET', key, bytes, 'PXAT', expires)
    else
        redis.call('SETRANGE', key, due_offset, due_bytes)
    end
end
if not lock[CHANGED] and not bytes then redis.call('PEXPIREAT', key, expires) end
if lock[FORM] == INDEXED and lock[HOLDS] > 0 then
    local index_expires_at = math.min(expires_at, lock[LATEST] + LIVENESS)
    redis.call('PEXPIREAT', index_key, string.format('%.0f', math.ceil(index_expires_at / 1000)))
elseif was_indexed then
    redis.call('DEL', index_key)
end
