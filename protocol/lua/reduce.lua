-- release and convert: a hold gives up a read or a write of `mode`, and gets `gained` reads. `told` is 1 if the caller
-- of the hold was told of its grant. After this, `answer` is set if the request is refused.
local answer
local last = math.max(hold and hold[LAST_REQ] or 0, waiter and waiter[LAST_REQ] or 0)
if req <= last then -- SPEC 9.3, 9.4
    if not (hold and hold[LAST_REQ] == req and hold[BY] == by and req == last) then answer = 'stale ' .. now_text end
elseif not (hold and hold[FIRST_FENCE] <= fence and fence <= hold[FENCE] and hold[READS + mode] > 0) then -- SPEC 9.5
    answer = 'not-held ' .. now_text
elseif hold[READS] + gained > DEEPEST then
    fault = TOO_DEEP
else
    hold[LAST_REQ], hold[BY] = req, by
    lk.recount(hold, hold[READS] - 1 + mode + gained, hold[WRITES] - mode)
    -- SPEC 6.3
    if told == 1 and mode == WRITE and hold[WRITES] == 0 and hold[FENCE] > lock[MARK] then lock[MARK] = 0 end
end
