-- This command is answered.
-- KEYS asks texts tries   ARGV id
call('ZREM', KEYS[1], A[1])
call('HDEL', KEYS[2], A[1])
call('HDEL', KEYS[3], A[1])
return 1
