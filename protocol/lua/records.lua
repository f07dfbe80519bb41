-- Changes of holds, and the counts of the lock (SPEC 12.8); queue.lua changes waiters. In an indexed lock, a record
-- that has changed is noted by lk.touch, a count by lk.recount.

hold_count = function(hold, reads, writes)
    if (reads > 0) ~= (lock[hold + READS] > 0) then
        local step = reads > 0 and 1 or -1
        lock[READ_HOLDS] = lock[READ_HOLDS] + step
        if lock[INDEXED] == 1 then lk.recount('g' .. lock[hold + GROUP], step) end
        if reads > 0 then lock[GROUPED], lock[READ_GROUP] = 1, lock[hold + GROUP] end -- SPEC 8.2
    end
    if (writes > 0) ~= (lock[hold + WRITES] > 0) then
        lock[WRITE_HOLDS] = lock[WRITE_HOLDS] + (writes > 0 and 1 or -1)
    end
    lock[hold + READS], lock[hold + WRITES], lk.changed = reads, writes, true
    if lock[INDEXED] == 1 then lk.touch(hold) end
end,

hold_remove = function(hold)
    lk.hold_count(hold, 0, 0)
    lock[hold + KIND], lock[HOLDS] = GONE, lock[HOLDS] - 1
    if lock[INDEXED] == 1 then
        lk.touch(hold)
        if lock[hold + OWNER] ~= '' then lk.recount('o' .. lock[hold + OWNER], -1) end
    end
    if lk.counts_of(hold) == 0 then lock[OWNERS] = lock[OWNERS] - 1 end
end,
