-- Holds and waiters as texts in the lock's hash: numbers first, then the lengths of owner and group, then owner, group and
-- who as they are. An owner that is the handle itself has length 0.
--   h:<handle>  reads writes fence first last op granted_for provisional since owner_length group_length …
--   w:<handle>  mode ticket lease req since owner_length group_length …
-- op is what `last` was: a acquire, r release, c convert, x cancel. mode is read or write.

function lk.texts(record, text, at, owner_length, group_length)
    local owner_end = at + owner_length
    record.owner = owner_length == '0' and record.handle or string.sub(text, at, owner_end - 1)
    record.group = string.sub(text, owner_end, owner_end + group_length - 1)
    record.who = string.sub(text, owner_end + group_length)
    return record
end

function lk.hold_read(handle, text)
    local reads, writes, fence, first, last, op, granted_for, provisional, since, owner_length, group_length, at =
        string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%a) (%d+) (%d) (%d+) (%d+) (%d+) ()')
    return lk.texts({
        handle = handle, reads = tonumber(reads), writes = tonumber(writes), fence = tonumber(fence),
        first = tonumber(first), last = tonumber(last), op = op, granted_for = tonumber(granted_for),
        provisional = tonumber(provisional), since = tonumber(since),
    }, text, at, owner_length, group_length)
end

function lk.hold_write(hold)
    local owner = hold.owner == hold.handle and '' or hold.owner
    return string.format('%d %d %.0f %.0f %.0f %s %.0f %d %.0f %d %d ', hold.reads, hold.writes, hold.fence,
        hold.first, hold.last, hold.op, hold.granted_for, hold.provisional, hold.since, #owner, #hold.group)
        .. owner .. hold.group .. hold.who
end

function lk.waiter_read(handle, text)
    local mode, ticket, lease, req, since, owner_length, group_length, at =
        string.match(text, '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')
    return lk.texts({
        handle = handle, mode = mode, ticket = tonumber(ticket), lease = tonumber(lease), req = tonumber(req),
        since = tonumber(since),
    }, text, at, owner_length, group_length)
end

function lk.waiter_write(waiter)
    local owner = waiter.owner == waiter.handle and '' or waiter.owner
    return string.format('%s %.0f %.0f %.0f %.0f %d %d ', waiter.mode, waiter.ticket, waiter.lease, waiter.req,
        waiter.since, #owner, #waiter.group) .. owner .. waiter.group .. waiter.who
end
