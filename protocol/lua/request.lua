-- A request on one lock from beginning to end, and how it is told whether it has been seen before.

-- SPEC 9.1, 9.3, 9.4. 'again': it was the handle's last, and of the same operation; 'stale'; or nil.
function lk.seen(request, hold, waiter, op)
    local held = hold and hold.last or 0
    local last = math.max(held, waiter and waiter.req or 0)
    if request.req > last then return nil end
    return request.req == last and last == held and hold.op == op and 'again' or 'stale'
end

-- SPEC 8.3.
function lk.means(hold, fence)
    return hold and hold.first <= fence and fence <= hold.fence
end

function lk.too_deep()
    return { err = 'LKDEPTH mode: held 65535 times already' }
end

-- SPEC 11.4: the words and numbers of an answer in one line. An error is as it is.
function lk.line(answer)
    if answer.err then return answer end
    for at = 2, #answer do
        if type(answer[at]) == 'number' then answer[at] = string.format('%.0f', answer[at]) end
    end
    return table.concat(answer, ' ')
end

-- `decide` is given the request and the handle's hold and waiter. It changes the lock and returns the
-- answer, and the handle whose waiter that tells its place.
function lk.run(names, decide)
    local request = lk.read_request(names)
    if not request then return { err = lk.fault } end
    local handle = request.handle or ''
    if request.owner == '' and request.handle then request.owner = handle end -- SPEC 1.3
    local wrong = lk.open(1, handle, request.owner or handle, request.group or '',
        request.wait == 1 and request.mode) or lk.unfold()
    if wrong then return { err = wrong } end
    lk.begin()
    local reply, told = decide(request, lk.hold_of(handle), lk.waiter_of(handle))
    lk.finish(told)
    return lk.line(reply)
end
