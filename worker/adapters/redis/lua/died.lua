-- The process that judged under this fence is known to be dead: no need to wait for its lease to end.
-- 1: brought back. 2: another judge had taken over, and the dead one may have written after that. 0: it was done.
-- KEYS pull   ARGV fence
local state, fence = get('state'), get('fence')
if fence and fence ~= A[1] then return 2 end
if not fence or (state ~= 'given' and state ~= 'held') then return 0 end
back()
lose_own()
in_vain()
owe()
return 1
