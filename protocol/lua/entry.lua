-- Appends an entry (sole.lua) to `before`.
local function with_entry(before, due, since, handle, req, lease_ms, texts)
    local size = #req + #lease_ms + #texts + 2
    local low = size % 64
    return before .. due .. ' ' .. since .. ' ' .. string.char(48 + (size - low) / 64, 48 + low) .. ' '
        .. handle .. ' ' .. req .. ' ' .. lease_ms .. ' ' .. texts
end
