-- Take down a command. 0: this delivery's was taken down before.
-- KEYS asked asks texts   ARGV id text asked_s
if not call('SET', KEYS[1], 1, 'NX', 'EX', A[3]) then return 0 end
call('HSET', KEYS[3], A[1], A[2])
call('ZADD', KEYS[2], now, A[1])
return 1
