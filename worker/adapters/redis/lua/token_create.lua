-- A token by its hash, under a name that nobody has. 0: somebody has it.
-- KEYS tokens names   ARGV name hash grant
if call('HGET', KEYS[2], A[1]) == A[2] then return 1 end
if call('HSETNX', KEYS[2], A[1], A[2]) == 0 then return 0 end
call('HSET', KEYS[1], A[2], A[3])
return 1
