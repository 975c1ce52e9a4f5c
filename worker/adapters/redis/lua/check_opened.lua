-- A head has its check run.
-- KEYS check checks deadlines notes [resting]   ARGV id head keep_s deadline_ms note [still]
if A[6] and call('SISMEMBER', KEYS[5], A[2]) == 0 then return 0 end -- only if it rests still
call('SET', KEYS[1], A[1], 'EX', A[3])
call('HSET', KEYS[2], A[2], A[1])
call('EXPIRE', KEYS[2], A[3])
call('ZADD', KEYS[3], now + A[4], KEYS[1])
call('HSET', KEYS[4], KEYS[1], A[5])
if KEYS[5] then call('SREM', KEYS[5], A[2], 'expired ' .. A[2]) end
return 1
