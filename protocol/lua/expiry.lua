-- The digits of an instant. `%.0f` prints any number, for twice the time.
local function digits(instant)
    local low = instant % 1000000
    return string.format('%d%06d', (instant - low) / 1000000, low)
end

-- SPEC 7.3: when the keys expire of a lock whose latest deadline this is. In digits, since it is
-- passed several times: a command prints each number anew.
local function expiry_ms(latest, written)
    return digits((latest + (written and 3600000999 or 999)) / 1000) -- rounded up: `%d` cuts
end
