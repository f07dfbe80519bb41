-- cancel: leaves the queue. SPEC 10.7.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  handle req target, packed (SPEC 11.5)
-- Reply cancelled time · granted time fence ms flags
--@include clock.lua
local unpacked, handle, req, target, rest = pcall(struct.unpack, '<sdd', #ARGV == 1 and ARGV[1] or '')
--@include arguments.lua
local wrong = keys_fault(3) or handle_fault(handle) or number_fault('req', req, 1, MOST_NUMBER, 'must be at least 1')
    or number_fault('target', target, 1, MOST_NUMBER, 'must be at least 1')
--@include enter.lua
--@include begin.lua
local answer = 'cancelled ' .. now_text
if waiter and waiter[LAST_REQ] == target then
    if lock[MARK_OF] == waiter[TICKET] then lock[MARK], lock[MARK_OF] = 0, 0 end -- SPEC 5.6
    queue.remove(waiter)
    if hold and req > hold[LAST_REQ] then -- SPEC 9.1
        hold[LAST_REQ], hold[BY], hold[STORED] = req, BY_CANCEL, nil
    end
elseif hold and (hold[GRANTED_FOR] == target or hold[LAST_REQ] == target and hold[BY] == BY_ACQUIRE) then
    --@include granted.lua
end
--@include complete.lua
return answer
