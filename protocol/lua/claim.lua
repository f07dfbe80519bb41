-- SPEC 5.1, 5.3: the client of `hold` has answered. A deadline never moves to an earlier instant.
if hold[KIND] == UNCLAIMED then hold[KIND], hold[STORED], lock[CHANGED] = HOLD, nil, true end
if now + lease > hold[DUE] then hold[DUE], hold[STORED], lock[MOVED] = now + lease, nil, hold end
