-- convert: the downgrade. SPEC 4.7, 10.6.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  handle req fence, packed (SPEC 11.5)
-- Reply granted time fence ms flags · not-held time · stale time
--@include clock.lua
local unpacked, handle, req, fence, rest = pcall(struct.unpack, '<sdd', #ARGV == 1 and ARGV[1] or '')
unpacked = unpacked and rest == #ARGV[1] + 1
--@include arguments.lua
local fault = request_fault(3)
fault = fault or handle_fault(handle) or number_fault('req', req, 1, MOST_NUMBER, 'must be at least 1')
    or number_fault('fence', fence, 0, MOST_NUMBER)
if fault then return { err = fault } end
--@include lock.lua
--@include reduce.lua
fault = lk.begin(KEYS[1], KEYS[2], redis.pcall('GET', KEYS[1]))
if fault then return { err = fault } end
local hold, waiter = lk.pair(handle)
local refused = refuse(hold, waiter, BY_CONVERT, WRITE)
local too_deep = not refused and hold[READS] == DEEPEST
if not refused and not too_deep then reduce(hold, hold[READS] + 1, hold[WRITES] - 1, BY_CONVERT, 1) end
local answer = refused ~= 'again' and refused and refused .. now_text or lk.granted(hold)
fault = lk.complete() or too_deep and TOO_DEEP
return fault and { err = fault } or answer
