-- SPEC 10.3: the answer to a request whose `hold` was granted.
local fence_text = hold[FENCE] == now and now_text or string.format('%.0f', hold[FENCE])
answer = 'granted ' .. now_text .. ' ' .. fence_text .. string.format(' %d %d', math.floor((hold[DUE] - now) / 1000),
    (lock[MARK] > 0 and 1 or 0) + 2 * lock[POLICY])
