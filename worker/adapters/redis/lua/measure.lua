-- Add up numbers for `/metrics`. 0: they were added before.
-- KEYS measures of marker   ARGV marker_s installation('': of none) keep_ms {field amount}...
if not call('SET', KEYS[3], 1, 'NX', 'EX', A[1]) then return 0 end
if A[2] ~= '' then
  call('ZADD', KEYS[2], now, A[2])
  call('ZREMRANGEBYSCORE', KEYS[2], 0, now - A[3])
end
for at = 4, #A, 2 do call('HINCRBY', KEYS[1], A[at], A[at + 1]) end
return 1
