-- Somebody said something about a head. 0: it was said before, and the first word stands; 1: it is written down.
-- Of more than `most` words the oldest do not give way: nothing more is written (-1).
-- KEYS pull ledger decisions   ARGV most is_first [field value]...
local decisions = KEYS[3]
local set = A[2] == '1' and 'HSETNX' or 'HSET'
if call('HLEN', decisions) >= tonumber(A[1]) and call('HEXISTS', decisions, A[3]) == 0 then return -1 end
local new = call(set, decisions, A[3], A[4])
if A[2] == '1' and new == 0 then return 0 end
for at = 5, #A, 2 do call('HSET', decisions, A[at], A[at + 1]) end
end_with(KEYS[2], decisions)
return 1
