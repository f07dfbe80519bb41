-- Prints an instant. `%.0f` prints any number, but takes twice the time.
local function digits(instant)
    local low = instant % 1000000
    return string.format('%d%06d', (instant - low) / 1000000, low)
end

-- SPEC 7.3: when the keys of a lock with this latest deadline expire. Returns digits, because the value
-- goes to several commands, and each command would print a number again.
local function expiry_ms(latest, written)
    return digits((latest + (written and 3600000999 or 999)) / 1000) -- rounded up: `%d` cuts
end
