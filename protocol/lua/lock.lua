-- One lock: open.lua reads it, an operation changes it in memory, complete.lua writes it back. This file has
-- the functions that most requests need.
--
-- The server makes the functions of a script anew at each call. So text that a script needs only once is a file
-- that is included where it is needed, not a function; and functions that few requests need are made when they
-- are needed: see make_queue, begin.lua and open.lua.
--@include codec.lua

-- In µs: SPEC 6.4, 5.3, 5.4.
--@constant HOUR 3600000000
--@constant CLAIM 1000000
--@constant LIVENESS 10000000
--@constant DEEPEST 65535
--@constant TOO_DEEP 'LKDEPTH mode: held 65535 times already'

-- Fields of `lock` that belong to the operation; they are not stored:
--@constant CHANGED 19        whether there is anything to write, beside the deadline of MOVED
--@constant FORM 20           PLAIN, FULL or INDEXED
--@constant MOVED 21          the record whose deadline has moved, or nil
--@constant EXPIRED 22        the records whose deadline has come, missed waiters too; nil: there is none
--@constant FIRST 23          the waiter that was first before the operation, or nil
--@constant HANDED_OVER 24    whether the operation granted provisionally (SPEC 5.5)
--@constant MESSAGES 25       clients and lines, in turn; nil: there is none
--@constant UNSETTLED 26      whether holds or waiters have changed, so that waiters may be granted

local may_be_refused = false -- a full server may refuse the operation; otherwise it must succeed (SPEC 11.3)
-- What was written last (save.lua); most entries of a renewal write the same.
local expires_at, expires, due_start, due_offset, due, due_bytes
local queue, losses, indexed -- tables of functions, once they are made
local lock, records -- the open lock (codec.lua); of an indexed lock, the records that were needed
--@include packed.lua
local ask = packed -- the functions of the lock's encoding
local lk
lk = {
-- SPEC 2.1, 2.2. If two owners hold, all read holds are of one group. So counts are enough. Also returns how many
-- holds the owner has.
is_compatible = function(record, mode)
    if lock[HOLDS] == 0 then return true, 0 end
    local of_owner, of_group = ask.counts_of(record, mode)
    return of_owner == lock[HOLDS] or mode == READ and lock[WRITE_HOLDS] == 0 and lock[READ_HOLDS] == of_group,
        of_owner
end,

-- Adds one count to a hold, or makes a record with a deadline a hold with one count.
give = function(hold, mode, req, floor, begins_life)
    local is_new, draws = hold[KIND] >= WAITER, nil
    if mode == WRITE then -- SPEC 8.2, 4.3
        draws = is_new or hold[WRITES] == 0
        lock[PHASE] = WRITE -- SPEC 3.6
    else
        draws = is_new and (begins_life or lock[GROUPED] == 1 and lock[READ_GROUP] ~= hold[GROUP]
            or lock[MARK] > 0 and lock[LAST_FENCE] <= lock[MARK])
    end
    if draws then -- SPEC 8.1
        lock[LAST_FENCE], lock[FLOOR] = math.max(lock[LAST_FENCE] + 1, now, lock[FLOOR] + 1, floor + 1), 0
    end
    if draws or is_new then hold[FENCE] = lock[LAST_FENCE] end
    if is_new then
        hold[KIND], hold[SINCE], hold[FIRST_FENCE] = HOLD, now, hold[FENCE]
        hold[READS], hold[WRITES], lock[HOLDS] = 0, 0, lock[HOLDS] + 1
    elseif req > hold[LAST_REQ] then -- SPEC 9.1
        hold[LAST_REQ], hold[BY] = req, BY_ACQUIRE
    end
    lk.recount(hold, hold[READS] + 1 - mode, hold[WRITES] + mode)
end,

-- Changes the counts of a hold, and those of the lock (SPEC 12.8). A hold without a count is gone.
recount = function(hold, reads, writes)
    if queue then queue.unsettle() end
    if (reads > 0) ~= (hold[READS] > 0) then
        lock[READ_HOLDS] = lock[READ_HOLDS] + (reads > 0 and 1 or -1)
        if reads > 0 then lock[GROUPED], lock[READ_GROUP] = 1, hold[GROUP] end -- SPEC 8.2
    end
    if (writes > 0) ~= (hold[WRITES] > 0) then
        lock[WRITE_HOLDS] = lock[WRITE_HOLDS] + (writes > 0 and 1 or -1)
    end
    hold[READS], hold[WRITES], hold[STORED], lock[CHANGED] = reads, writes, nil, true
    if reads + writes == 0 then hold[KIND], lock[HOLDS] = GONE, lock[HOLDS] - 1 end
end,

make_queue = function()
    --@include queue.lua
end,
}
