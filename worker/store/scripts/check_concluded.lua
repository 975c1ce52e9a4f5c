-- The check run of a head has its conclusion.
-- KEYS check checks deadlines notes   ARGV head
call('HDEL', KEYS[2], A[1])
call('ZREM', KEYS[3], KEYS[1])
call('HDEL', KEYS[4], KEYS[1])
return 1
