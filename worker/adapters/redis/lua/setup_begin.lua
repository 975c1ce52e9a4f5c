-- A state that GitHub is to send back, by its hash, good for a while. 0: setup is closed.
-- KEYS setup   ARGV hash ttl
if call('EXISTS', KEYS[1]) == 0 then return 0 end
call('HSET', KEYS[1], 'state:' .. A[1], now + A[2])
return 1
