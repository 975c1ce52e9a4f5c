-- A head has its check run, and nobody judges it yet. deadline_ms -1: for as long as it takes.
-- KEYS check checks deadlines notes resting   ARGV id head keep_s deadline_ms note [still]
if A[6] and call('SISMEMBER', KEYS[5], A[2]) == 0 then return 0 end -- only if it rests still
call('SET', KEYS[1], A[1], 'EX', A[3])
call('HSET', KEYS[2], A[2], A[1])
call('EXPIRE', KEYS[2], A[3])
call('SADD', KEYS[5], A[2])
call('SREM', KEYS[5], 'expired ' .. A[2])
call('EXPIRE', KEYS[5], A[3])
if A[4] == '-1' then
  call('ZREM', KEYS[3], KEYS[1])
  call('HDEL', KEYS[4], KEYS[1])
else
  call('ZADD', KEYS[3], now + A[4], KEYS[1])
  call('HSET', KEYS[4], KEYS[1], A[5])
end
return 1
