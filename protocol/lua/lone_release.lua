-- The short way of release: the hold is the only record, and nothing stays behind. It does what the rest of the
-- script would do, in a third of the time. `key` and `handle` need no check: those that are stored were checked.
--@include codec.lua
if value and not value.err then
    local l, k, version, form, count = string.byte(value, 1, FIXED_TO)
    if count == 1 and form == PLAIN and version == VERSION and k == K and l == L then
        local _, _, _, _, _, _, last_fence, _, _, its_handle, kind, _, reads, writes, due, _, its_fence, first_fence,
            last_req = struct.unpack(LONE_FORMAT, value)
        if its_handle == handle and kind < WAITER and due > now and last_req < req and reads == 1 - mode
            and writes == mode and first_fence <= fence and fence <= its_fence and last_fence <= now then
            redis.call('DEL', key) -- SPEC 7.1
            return 'released ' .. now_text .. ' 0 0'
        end
    end
end
