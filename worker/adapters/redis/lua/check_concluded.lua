-- The check run of a head has its conclusion. 0: the watchdog closed it, or was about to, since it was opened last.
-- KEYS check checks deadlines notes resting   ARGV head [id keep_s]
if A[2] then call('SET', KEYS[1], A[2], 'EX', A[3]) end
call('HDEL', KEYS[2], A[1])
call('ZREM', KEYS[3], KEYS[1])
call('HDEL', KEYS[4], KEYS[1])
call('SREM', KEYS[5], A[1])
return 1 - call('SREM', KEYS[5], 'expired ' .. A[1])
