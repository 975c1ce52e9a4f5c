-- The watchdog closed this check run. 0: it was open no more by then, and what is noted of it stands.
-- KEYS check checks deadlines notes resting   ARGV head id keep_s
if call('HGET', KEYS[2], A[1]) ~= A[2] then return 0 end
call('HDEL', KEYS[2], A[1])
call('ZREM', KEYS[3], KEYS[1])
call('HDEL', KEYS[4], KEYS[1])
call('SREM', KEYS[5], A[1])
call('SADD', KEYS[5], 'expired ' .. A[1]) -- who concludes it learns that something else may stand over his words
call('EXPIRE', KEYS[5], A[3])
return 1
