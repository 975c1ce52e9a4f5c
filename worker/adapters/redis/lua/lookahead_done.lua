-- The verdict on the whole is made, or none is to be. Outcomes that came meanwhile want another one; a submission that was
-- judged meanwhile opened a window of its own.
-- KEYS watch lookahead outcomes   ARGV turn
local id = call('HGET', KEYS[1], 'next')
local counted = tonumber(call('HGET', KEYS[1], 'counted') or call('LLEN', KEYS[3]))
if call('HGET', KEYS[1], 'turn') ~= A[1] then return 0 end
call('HDEL', KEYS[1], 'next', 'counted')
if id then call('HSET', KEYS[1], 'made', id) end
if call('LLEN', KEYS[3]) > counted then
  call('ZADD', KEYS[2], now, KEYS[1])
  return 2
end
call('ZREM', KEYS[2], KEYS[1])
return 1
