-- Holds and waiters as texts in the lock's hash: numbers first, then the lengths of owner and
-- group, then owner, group and who as they are. An owner that is the handle itself has length 0.
--   h:<handle>  reads writes fence first last op granted_for provisional since …
--   w:<handle>  mode ticket lease req since …
--   sole        handle fence flags waiting reads writes due last first op granted_for provisional
--               since length … line
-- op is what `last` was: a acquire, r release, c convert, x cancel. mode is read or write. Of a sole
-- hold, what a release compares stands first; `length` is that of the texts; for the line see
-- line.lua, `waiting` is how many stand in it.

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

-- The hold, the flags (SPEC 10.3), and the line.
function lk.sole_read(text)
    local handle, fence, flags, reads, writes, due, last, first, op, granted_for, provisional, since,
        length, at = string.match(text, '^(%S+) (%d+) (%d) %d (%d+) (%d+) (%d+) (%d+) (%d+) (%a) '
        .. '(%d+) (%d) (%d+) (%d+) ()')
    local owner_length, group_length, texts_at = string.match(text, '^(%d+) (%d+) ()', at)
    return lk.with_texts({
        handle = handle, reads = tonumber(reads), writes = tonumber(writes),
        fence = tonumber(fence), first = tonumber(first), last = tonumber(last), op = op,
        granted_for = tonumber(granted_for), provisional = tonumber(provisional),
        since = tonumber(since), due = tonumber(due),
    }, string.sub(text, 1, at + length - 1), texts_at, owner_length, group_length),
        tonumber(flags), string.sub(text, at + length)
end

function lk.sole_write(hold)
    local texts = lk.texts_of(hold)
    return string.format('%s %.0f %d 0 %d %d %.0f %.0f %.0f %s %.0f %d %.0f %d ', hold.handle,
        hold.fence, lk.flags(), hold.reads, hold.writes, hold.due, hold.last, hold.first, hold.op,
        hold.granted_for, hold.provisional, hold.since, #texts) .. texts
end

function lk.waiter_read(handle, text)
    local mode, ticket, lease, req, since, owner_length, group_length, at =
        string.match(text, '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')
    return lk.with_texts({
        handle = handle, mode = mode, ticket = tonumber(ticket), lease = tonumber(lease),
        req = tonumber(req), since = tonumber(since),
    }, text, at, owner_length, group_length)
end

-- The waiters of a line, in order.
function lk.line_read(line)
    local waiters, at = {}, 1
    while at <= #line do
        local due, length, handle, req, lease, since, from = string.match(line,
            '^(%d+) (%d+) (%S+) (%d+) (%d+) (%d+) ()', at)
        at = from + length
        local owner_length, group_length, texts_at = string.match(line, '^(%d+) (%d+) ()', from)
        waiters[#waiters + 1] = lk.with_texts({
            handle = handle, mode = 'write', ticket = #waiters + 1, lease = tonumber(lease),
            req = tonumber(req), since = tonumber(since), due = tonumber(due),
        }, string.sub(line, 1, at - 1), texts_at, owner_length, group_length)
    end
    return waiters
end

function lk.waiter_write(waiter)
    return string.format('%s %.0f %.0f %.0f %.0f ', waiter.mode, waiter.ticket, waiter.lease,
        waiter.req, waiter.since) .. lk.texts_of(waiter)
end
