-- Changes of holds, and the counts of the lock (SPEC 12.8); queue.lua changes waiters.

hold_count = function(hold, reads, writes)
    if (reads > 0) ~= (hold[READS] > 0) then
        lock[READ_HOLDS] = lock[READ_HOLDS] + (reads > 0 and 1 or -1)
        if reads > 0 then lock[GROUPED], lock[READ_GROUP] = 1, hold[GROUP] end -- SPEC 8.2
    end
    if (writes > 0) ~= (hold[WRITES] > 0) then
        lock[WRITE_HOLDS] = lock[WRITE_HOLDS] + (writes > 0 and 1 or -1)
    end
    hold[READS], hold[WRITES], hold[STORED], lock[CHANGED] = reads, writes, nil, true
end,

-- The record keeps its counts.
hold_remove = function(hold)
    if hold[READS] > 0 then lock[READ_HOLDS] = lock[READ_HOLDS] - 1 end
    if hold[WRITES] > 0 then lock[WRITE_HOLDS] = lock[WRITE_HOLDS] - 1 end
    hold[KIND], hold[STORED], lock[HOLDS], lock[CHANGED] = GONE, nil, lock[HOLDS] - 1, true
end,
