-- A request on one lock from beginning to end, and the check whether it repeats an earlier request.

-- SPEC 9.1, 9.3, 9.4. Returns 'again' if the request has the handle's last number and that was the same
-- operation; 'stale' if its number is not above the last; otherwise nil.
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

-- SPEC 11.4: joins the words and numbers of an answer to one line. Returns an error unchanged.
function lk.line(answer)
    if answer.err then return answer end
    for at = 2, #answer do
        if type(answer[at]) == 'number' then answer[at] = string.format('%.0f', answer[at]) end
    end
    return table.concat(answer, ' ')
end

-- `decide` gets the request, and the hold and the waiter of its handle. It changes the lock. It returns
-- the answer and, if the answer tells a waiter its place, the handle of that waiter.
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
