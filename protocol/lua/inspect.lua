-- inspect: shows the holds and waiters. Writes nothing. SPEC 10.8.
-- KEYS  the four keys of the lock (SPEC 11.1)
-- ARGV  limit
-- Reply the line `lock time`, then policy fence abandoned holders waiters hold-rows waiter-rows
--@include prelude.lua

local request = lk.read_request({ 'limit' })
if not request then return { err = lk.fault } end
local limit = request.limit

local wrong = lk.open(1, '', '', '')
if wrong then return { err = wrong } end
local lock = lk.lock

local waiting, holding = lk.waiting(), 0
local hidden, hidden_waiters = {}, 0
local abandoned = lock.mark and 1 or 0

-- The holds and waiters that SPEC 5.2 would drop are hidden.
local function hide_waiter(handle)
    if not hidden['w:' .. handle] then
        hidden['w:' .. handle], hidden_waiters = true, hidden_waiters + 1
    end
end

local function hide_hold(hold)
    local field = 'o:' .. hold.owner
    lk.counts[field], holding = lk.count(field) - 1, holding - 1
    if hold.writes > 0 then abandoned = 1 end
    if lock.up == hold.handle then hide_waiter(hold.handle) end
end

if lock.sole then
    holding = 1
    if lock.sole.due <= lk.now then hide_hold(lock.sole) end
    for _, waiter in ipairs(lock.line or {}) do
        if waiter.due <= lk.now then hide_waiter(waiter.handle) end
    end
elseif lock.shape == 'full' then
    holding = redis.call('ZCARD', lk.due_key) - waiting
    for _, member in ipairs(lock.run_out) do
        local handle = string.sub(member, 3)
        if string.sub(member, 1, 1) == 'h' then
            hide_hold(lk.hold_of(handle))
        else
            hide_waiter(handle)
        end
    end
    if lock.up and lk.count('o:' .. lk.waiter_of(lock.up).owner) == 0 then hide_waiter(lock.up) end
end
waiting = waiting - hidden_waiters

local function age_ms(since)
    return math.max(0, math.floor((lk.now - since) / 1000))
end

local function hold_row(hold)
    return { hold.handle, hold.owner, hold.group, hold.reads, hold.writes, lk.left_ms(hold),
        age_ms(hold.since), hold.fence, hold.provisional, hold.who }
end

local function hold_rows()
    local rows, shown = {}, math.min(limit, holding)
    if shown == 0 then return rows end
    if lock.sole then return { hold_row(lock.sole) } end
    local after_now = '(' .. digits(lk.now)
    for at, member in ipairs(redis.call('ZRANGEBYSCORE', lk.due_key, after_now, '+inf', 'LIMIT', 0,
        shown)) do
        rows[at] = hold_row(lk.hold_of(string.sub(member, 3)))
    end
    return rows
end

-- Returns as many waiters of a queue as could be shown, with their tickets, without the hidden ones.
local function queued(mode)
    local flat = redis.call('ZRANGE', lk.queue_key(mode), 0, limit + hidden_waiters, 'WITHSCORES')
    local list = {}
    for at = 1, #flat, 2 do
        if not hidden['w:' .. flat[at]] then
            list[#list + 1] = { handle = flat[at], ticket = tonumber(flat[at + 1]) }
        end
    end
    return list
end

-- SPEC 3.5.
local function in_order()
    if lock.line then
        local few = {}
        for _, waiter in ipairs(lock.line) do
            if not hidden['w:' .. waiter.handle] then few[#few + 1] = waiter end
        end
        return few
    end
    local readers, writers, list = queued('read'), queued('write'), {}
    local function append(more, from)
        for at = from, #more do list[#list + 1] = more[at] end
    end
    local preferred = lk.preferred()
    if preferred == 'write' then
        if lock.policy == 'phase-fair' then
            list[1] = table.remove(writers, 1)
            append(readers, 1)
            append(writers, 1)
        else
            append(writers, 1)
            append(readers, 1)
        end
    else
        append(readers, 1)
        append(writers, 1)
        if not preferred then table.sort(list, function(a, b) return a.ticket < b.ticket end) end
    end
    if lock.up and not hidden['w:' .. lock.up] then table.insert(list, 1, { handle = lock.up }) end
    return list
end

local function waiter_row(waiter)
    local due = waiter.due or lk.waiter_due(waiter)
    return { waiter.handle, waiter.owner, waiter.group,
        lock.up == waiter.handle and 'upgrade' or waiter.mode, math.floor((due - lk.now) / 1000),
        age_ms(waiter.since), waiter.req, waiter.who }
end

local function waiter_rows()
    local rows, shown = {}, math.min(limit, waiting)
    if shown == 0 then return rows end
    local list = in_order()
    for at = 1, shown do rows[at] = waiter_row(lk.waiter_of(list[at].handle)) end
    return rows
end

local alive = holding + waiting > 0
return { 'lock ' .. now_text, alive and lock.policy or '', (alive or abandoned == 1) and lock.fence or 0,
    abandoned, holding, waiting, hold_rows(), waiter_rows() }
