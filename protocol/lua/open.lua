-- Reads the lock of `key`, whose value is `value`. After this, `hold` and `waiter` are those of `handle`, which may be
-- nil, and `fault` is an error or nil.
local kept_policy, phase, grouped, last_fence, last_ticket, read_group = FAIR, READ, 0, 0, 0, ''
local kept_floor, mark, mark_until, mark_of, upgrade = 0, 0, 0, 0, ''
local holds, misses, read_holds, write_holds, readers, writers, latest = 0, 0, 0, 0, 0, 0, 0
local l, k, version, form, count, from, fault, hold, waiter, placed, expired, loses, _
if value and not value.err then l, k, version, form, count = string.byte(value, 1, FIXED_TO) end
if version == VERSION and k == K and l == L then
    kept_policy, phase, grouped, last_fence, last_ticket, read_group, from =
        struct.unpack(PLAIN_FIELDS, value, FIXED_TO + 1)
    if form ~= PLAIN then
        kept_floor, mark, mark_until, mark_of, upgrade, from = struct.unpack(FULL_FIELDS, value, from)
    end
    if form == INDEXED then
        holds, misses, read_holds, write_holds, readers, writers, latest = struct.unpack(INDEXED_FIELDS, value, from)
    end
else
    form, count = PLAIN, 0
    if value then
        --@include foreign.lua
    end
end
records = {}
for at = 1, count do
    local record = { from, struct.unpack(RECORD_FORMAT, value, from) }
    local kind, is_own = record[KIND], record[HANDLE] == handle
    records[at], from = record, record[STORED]
    if kind < WAITER then
        holds = holds + 1
        if record[READS] > 0 then read_holds = read_holds + 1 end
        if record[WRITES] > 0 then write_holds = write_holds + 1 end
        if is_own then hold = record end
    else
        if kind == MISSED then
            misses = misses + 1
        elseif record[HANDLE] ~= upgrade then
            if record[WRITES] == 0 then readers = readers + 1 else writers = writers + 1 end
        end
        if is_own then waiter = record end
    end
    if record[DUE] <= now then
        expired = expired or {}
        expired[#expired + 1] = record
    end
end
lock = { kept_policy, phase, grouped, last_fence, last_ticket, read_group, kept_floor, mark, mark_until, mark_of,
    upgrade, holds, misses, read_holds, write_holds, readers, writers, latest, false, form, nil, expired, nil, nil,
    nil, nil }
ask = packed
if (form == INDEXED or #records >= MOST) and not indexed then -- it is indexed, or may become so
    --@include indexed.lua
end
if form == INDEXED then
    --@include open_indexed.lua
end
