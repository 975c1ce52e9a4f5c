-- A verdict on a submission: what people do from now on is watched, anew. `turn` tells the windows apart.
-- KEYS watch lookahead heard queue texts [commit]   ARGV pull watch_s window_ms id text heard_s number commit_s
if not call('SET', KEYS[3], 1, 'NX', 'EX', A[6]) then return 0 end
call('HSET', KEYS[1], 'pull', A[1], 'events', 0)
call('HDEL', KEYS[1], 'made', 'next', 'counted')
call('HINCRBY', KEYS[1], 'turn', 1)
call('EXPIRE', KEYS[1], A[2])
call('ZADD', KEYS[2], now + A[3], KEYS[1])
if KEYS[6] then call('SET', KEYS[6], A[7], 'EX', A[8]) end
if A[5] ~= '' then
  call('HSET', KEYS[5], A[4], A[5])
  call('ZADD', KEYS[4], now, A[4])
end
return 1
