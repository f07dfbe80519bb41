-- convert: the downgrade. SPEC 4.7, 10.6.
-- KEYS  the keys of the lock (SPEC 11.1)
-- ARGV  handle req fence, packed (SPEC 11.5)
-- Reply granted time fence ms flags · not-held time · stale time
--@include clock.lua
local unpacked, handle, req, fence, rest = pcall(struct.unpack, '<sdd', #ARGV == 1 and ARGV[1] or '')
--@include arguments.lua
local wrong = keys_fault(3) or handle_fault(handle) or number_fault('req', req, 1, MOST_NUMBER, 'must be at least 1')
    or number_fault('fence', fence, 0, MOST_NUMBER)
--@include enter.lua
--@include begin.lua
local by, mode, gained, told = BY_CONVERT, WRITE, 1, 1
--@include reduce.lua
if not answer then
    --@include granted.lua
end
--@include complete.lua
return fault and { err = fault } or answer
