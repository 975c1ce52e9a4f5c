-- This is done, or needs no doing; a newer one stays.
-- KEYS order texts tries   ARGV id text
if call('HGET', KEYS[2], A[1]) ~= A[2] then return 0 end
call('ZREM', KEYS[1], A[1])
call('HDEL', KEYS[2], A[1])
call('HDEL', KEYS[3], A[1])
return 1
