-- SPEC 3.5: how many writers stand before the readers; nil: their tickets decide.
local before = 0
if lock[POLICY] == FAIR then before = nil end
if lock[POLICY] == PREFER_WRITER then before = math.huge end
if lock[POLICY] == PHASE_FAIR and lock[PHASE] == READ then before = 1 end
