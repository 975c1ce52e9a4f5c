-- Whether this delivery may be asked for once more. The same attempt again counts once.
-- KEYS again   ARGV attempt most keep_s
if call('SISMEMBER', KEYS[1], A[1]) == 0 and call('SCARD', KEYS[1]) >= tonumber(A[2]) then return 0 end
call('SADD', KEYS[1], A[1])
call('EXPIRE', KEYS[1], A[3])
return 1
