-- For inspect and force.

-- Returns the holds, or the waiters of a mode, by the field `key` and then by handle.
packed.sorted = function(kind, mode, key, limit)
    local found = {}
    for _, record in ipairs(records) do
        if kind == HOLD and record[KIND] < WAITER or record[KIND] == kind and record[WRITES] == mode then
            found[#found + 1] = record
        end
    end
    table.sort(found, function(a, b)
        if a[key] ~= b[key] then return a[key] < b[key] end
        return a[HANDLE] < b[HANDLE]
    end)
    for at = #found, limit + 1, -1 do found[at] = nil end
    return found
end
