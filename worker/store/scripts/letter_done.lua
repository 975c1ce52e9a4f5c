-- This letter is written, or needs no writing; a newer one stays.
-- KEYS letters texts tries   ARGV id text
if call('HGET', KEYS[2], A[1]) ~= A[2] then return 0 end
call('ZREM', KEYS[1], A[1])
call('HDEL', KEYS[2], A[1])
call('HDEL', KEYS[3], A[1])
return 1
