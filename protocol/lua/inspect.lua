-- inspect: who holds and who waits. Writes nothing. SPEC 10.8.
-- KEYS  the four of the lock (SPEC 11.1)
-- ARGV  limit
-- Reply lock time policy fence abandoned holders waiters hold-rows waiter-rows
--@include prelude.lua

lk.check_keys()
if not lk.check_arguments(1) then return { err = lk.fault_text } end
local limit = lk.to_number('limit', ARGV[1])
if limit > 100000 then lk.fault('LKARG limit: must be at most 100000') end
if lk.fault_text then return { err = lk.fault_text } end

lk.now = lk.clock()
local wrong = lk.open(1, '', '', '')
if wrong then return { err = wrong } end
local lock = lk.lock

local holders, waiting = 0, lock.reader_waiters + lock.writer_waiters + (lock.up and 1 or 0)
local hidden, hidden_waiters = {}, 0
local abandoned = lock.mark and 1 or 0

local function hide_waiter(handle)
    if not hidden['w:' .. handle] then
        hidden['w:' .. handle], hidden_waiters = true, hidden_waiters + 1
    end
end

-- What 5.2 would drop.
local function hide_hold(hold)
    hidden['h:' .. hold.handle], holders = true, holders - 1
    lk.owner_counts[hold.owner] = lk.owner_count(hold.owner) - 1
    if hold.writes > 0 then abandoned = 1 end
    if lock.up == hold.handle then hide_waiter(hold.handle) end
end

if lock.shape == 'sole' then
    holders = 1
    if lock.sole.due <= lk.now then hide_hold(lock.sole) end
elseif lock.shape == 'full' then
    holders = redis.call('ZCARD', lk.due_key) - waiting
    for _, member in ipairs(lock.run_out) do
        local handle = string.sub(member, 3)
        if string.sub(member, 1, 1) == 'h' then hide_hold(lk.hold_of(handle)) else hide_waiter(handle) end
    end
    if lock.up and lk.owner_count(lk.waiter_of(lock.up).owner) == 0 then hide_waiter(lock.up) end
end

local function age_ms(since)
    return math.max(0, math.floor((lk.now - since) / 1000))
end

local function hold_row(hold)
    return { hold.handle, hold.owner, hold.group, hold.reads, hold.writes, lk.left_ms(hold), age_ms(hold.since), hold.fence,
        hold.provisional, hold.who }
end

local function hold_rows()
    if lock.shape == 'sole' then return { holders == 1 and limit > 0 and hold_row(lock.sole) or nil } end
    local rows, at = {}, 0
    while #rows < math.min(limit, holders) do
        local page = redis.call('ZRANGEBYSCORE', lk.due_key, '(' .. string.format('%.0f', lk.now), '+inf', 'LIMIT', at, 1000)
        at = at + #page
        for _, member in ipairs(page) do
            if string.sub(member, 1, 1) == 'h' and #rows < limit then
                rows[#rows + 1] = hold_row(lk.hold_of(string.sub(member, 3)))
            end
        end
    end
    return rows
end

-- The handles of a queue with their tickets, as many as could be shown.
local function queued(queue)
    local list, flat = {}, redis.call('ZRANGE', queue, 0, limit + hidden_waiters, 'WITHSCORES')
    for at = 1, #flat, 2 do list[#list + 1] = { handle = flat[at], ticket = tonumber(flat[at + 1]) } end
    return list
end

local function append(list, more, from)
    for at = from, #more do list[#list + 1] = more[at] end
end

-- SPEC 3.5, without the upgrade.
local function in_order()
    local readers, writers, list = queued(lk.reader_key), queued(lk.writer_key), {}
    local queue = lk.preferred(lock.phase)
    if not queue then
        append(list, readers, 1)
        append(list, writers, 1)
        table.sort(list, function(a, b) return a.ticket < b.ticket end)
    elseif queue == lk.reader_key then
        append(list, readers, 1)
        append(list, writers, 1)
    elseif lock.policy == 'prefer-writer' then
        append(list, writers, 1)
        append(list, readers, 1)
    else
        list[1] = writers[1]
        append(list, readers, 1)
        append(list, writers, 2)
    end
    return list
end

local function waiter_rows()
    local rows = {}
    if waiting == hidden_waiters then return rows end
    local list = in_order()
    if lock.up then table.insert(list, 1, { handle = lock.up }) end
    for _, entry in ipairs(list) do
        if #rows == limit then break end
        if not hidden['w:' .. entry.handle] then
            local waiter = lk.waiter_of(entry.handle)
            local due = tonumber(redis.call('ZSCORE', lk.due_key, 'w:' .. waiter.handle))
            rows[#rows + 1] = { waiter.handle, waiter.owner, waiter.group,
                lock.up == waiter.handle and 'upgrade' or waiter.mode, math.floor((due - lk.now) / 1000),
                age_ms(waiter.since), waiter.req, waiter.who }
        end
    end
    return rows
end

local waiters_left = waiting - hidden_waiters
local policy = (holders > 0 or waiters_left > 0) and lock.policy or ''
return { 'lock', lk.now, policy, lock.fence, abandoned, holders, waiters_left, hold_rows(), waiter_rows() }
