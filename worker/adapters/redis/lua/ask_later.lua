-- Look at this command again after a while.
-- KEYS asks   ARGV id delay_ms
if call('ZSCORE', KEYS[1], A[1]) then call('ZADD', KEYS[1], now + A[2], A[1]) end
return 1
