-- Holds and waiters as strings. First come numbers. Then come the texts: the lengths of owner and group,
-- and then owner, group and who, unchanged. An owner that is the handle itself has length 0.
--   h:<handle>  reads writes fence first last op granted_for provisional since texts
--   w:<handle>  mode ticket lease req since texts
-- op is the operation of `last`: a acquire, r release, c convert, x cancel. mode is read or write. These
-- strings are fields of the lock's hash. sole.lua describes the string of a sole hold. A sole hold of
-- kind x has these before its texts:
--   reads writes first op granted_for provisional mark mark_until group_length group
-- mark and mark_until describe the abandoned mark of the lock; both are 0 if there is none. group is the
-- group of the lock. Its length is -1 if the lock has no group, or the same group as the hold.

function lk.with_texts(record, text, at, owner_length, group_length)
    local owner_end = at + owner_length
    record.owner = owner_length == '0' and record.handle or string.sub(text, at, owner_end - 1)
    record.group = string.sub(text, owner_end, owner_end + group_length - 1)
    record.who = string.sub(text, owner_end + group_length)
    return record
end

function lk.texts_of(record)
    local owner = record.owner == record.handle and '' or record.owner
    return #owner .. ' ' .. #record.group .. ' ' .. owner .. record.group .. record.who
end

function lk.hold_read(handle, text)
    local reads, writes, fence, first, last, op, granted_for, provisional, since, owner_length,
        group_length, at = string.match(text,
        '^(%d+) (%d+) (%d+) (%d+) (%d+) (%a) (%d+) (%d) (%d+) (%d+) (%d+) ()')
    return lk.with_texts({
        handle = handle, reads = tonumber(reads), writes = tonumber(writes),
        fence = tonumber(fence), first = tonumber(first), last = tonumber(last), op = op,
        granted_for = tonumber(granted_for), provisional = tonumber(provisional),
        since = tonumber(since),
    }, text, at, owner_length, group_length)
end

function lk.hold_write(hold)
    return string.format('%d %d %.0f %.0f %.0f %s %.0f %d %.0f ', hold.reads, hold.writes,
        hold.fence, hold.first, hold.last, hold.op, hold.granted_for, hold.provisional,
        hold.since) .. lk.texts_of(hold)
end

-- Returns the hold, the lock's own fields, and the entries after that of the hold; nil if the string is
-- not a sole hold.
function lk.sole_read(text)
    local kind, flags, fence, due, since, handle, last, at = string.match(text,
        '^([ahcx])[rwb](%d)%d (%d+) (%d+) (%d+) .. (%x+%-%x+) (%d+) %d+ ()')
    if not kind then return end
    local reads = string.sub(text, 2, 2) == 'r' and 1 or 0
    local hold = {
        handle = handle, reads = reads, writes = 1 - reads, fence = tonumber(fence),
        first = tonumber(fence), last = tonumber(last), op = 'a',
        granted_for = kind == 'a' and 0 or tonumber(last), provisional = kind == 'h' and 1 or 0,
        since = tonumber(since), due = tonumber(due),
    }
    local fields = { fence = hold.fence, policy = lk.POLICY_NAMES[math.floor(flags / 2)] }
    if kind == 'x' then at = lk.sole_rest_read(hold, fields, text, at) end
    local behind = entry_end(text, 23)
    local owner_length, group_length, texts_at = string.match(text, '^(%d+) (%d+) ()', at)
    lk.with_texts(hold, string.sub(text, 1, behind - 1), texts_at, owner_length, group_length)
    if hold.reads > 0 then fields.group = hold.group end
    return hold, fields, string.sub(text, behind)
end

-- Reads the part of a hold of kind x that comes before its texts. Returns where the texts begin.
function lk.sole_rest_read(hold, fields, text, at)
    local reads, writes, first, op, granted_for, provisional, mark, mark_until, length, group_at =
        string.match(text, '^(%d+) (%d+) (%d+) (%a) (%d+) (%d) (%d+) (%d+) (%-?%d+) ()', at)
    hold.reads, hold.writes, hold.first = tonumber(reads), tonumber(writes), tonumber(first)
    hold.op, hold.granted_for = op, tonumber(granted_for)
    hold.provisional = tonumber(provisional)
    if mark ~= '0' then fields.mark, fields.mark_until = tonumber(mark), tonumber(mark_until) end
    if length == '-1' then return group_at end
    fields.group = string.sub(text, group_at, group_at + length - 1)
    return group_at + length
end

-- For a hold without waiters beside it.
function lk.sole_write(hold)
    local lock, texts = lk.lock, lk.texts_of(hold)
    local mode = hold.writes == 0 and 'r' or hold.reads == 0 and 'w' or 'b'
    local group = hold.reads == 0 and lock.group or nil
    local kind = 'x'
    if hold.reads + hold.writes == 1 and hold.first == hold.fence and hold.op == 'a' and not lock.mark
        and not group then
        if hold.granted_for == 0 and hold.provisional == 0 then kind = 'a' end
        if hold.granted_for == hold.last then kind = hold.provisional == 1 and 'h' or 'c' end
    end
    if kind == 'x' then
        texts = string.format('%d %d %.0f %s %.0f %d %.0f %.0f %d ', hold.reads, hold.writes, hold.first,
            hold.op, hold.granted_for, hold.provisional, lock.mark or 0, lock.mark_until or 0,
            group and #group or -1) .. (group or '') .. texts
    end
    return with_entry(string.format('%s%s%d0 %016.0f ', kind, mode, lk.flags(), hold.fence),
        string.format('%016.0f', hold.due), string.format('%016.0f', hold.since), hold.handle,
        string.format('%.0f', hold.last), '0', texts)
end

function lk.waiter_read(handle, text)
    local mode, ticket, lease, req, since, owner_length, group_length, at =
        string.match(text, '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')
    return lk.with_texts({
        handle = handle, mode = mode, ticket = tonumber(ticket), lease = tonumber(lease),
        req = tonumber(req), since = tonumber(since),
    }, text, at, owner_length, group_length)
end

-- Returns the waiters of entries (sole.lua), in order.
function lk.entries_read(entries)
    local waiters, at = {}, 1
    while at < #entries do
        local due, since, handle, req, lease_ms, owner_length, group_length, texts_at = string.match(
            entries, '^(%d+) (%d+) .. (%S+) (%d+) (%d+) (%d+) (%d+) ()', at)
        at = entry_end(entries, at)
        waiters[#waiters + 1] = lk.with_texts({
            handle = handle, mode = 'write', ticket = #waiters + 1, lease = lease_ms * 1000,
            req = tonumber(req), since = tonumber(since), due = tonumber(due),
        }, string.sub(entries, 1, at - 1), texts_at, owner_length, group_length)
    end
    return waiters
end

function lk.waiter_write(waiter)
    return string.format('%s %.0f %.0f %.0f %.0f ', waiter.mode, waiter.ticket, waiter.lease,
        waiter.req, waiter.since) .. lk.texts_of(waiter)
end
