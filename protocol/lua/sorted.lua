-- For inspect and force.

-- Returns the holds, or the waiters of a mode, by the field `key` and then by handle.
lk.sorted = lk.sorted or function(kind, mode, key, limit)
    local found = {}
    for record = HEADER_LENGTH, lk.last_record, RECORD_LENGTH do
        if lock[record + KIND] == kind and (kind == HOLD or lock[record + MODE] == mode) then
            found[#found + 1] = record
        end
    end
    table.sort(found, function(a, b)
        if lock[a + key] ~= lock[b + key] then return lock[a + key] < lock[b + key] end
        return lock[a + HANDLE] < lock[b + HANDLE]
    end)
    for at = #found, limit + 1, -1 do found[at] = nil end
    return found
end
