-- The process that judged under this fence is known to be dead: no need to wait for its lease to end.
-- KEYS pull   ARGV fence
local state = get('state')
if get('fence') ~= A[1] or (state ~= 'given' and state ~= 'held') then return 0 end
back()
owe()
return 1
