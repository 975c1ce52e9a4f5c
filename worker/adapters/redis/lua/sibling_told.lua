-- GitHub was told what stands in `as`. 0: something was said meanwhile, so that somebody has to look again.
-- KEYS shown commits texts   ARGV number version as place [settled]
-- settled: by who had said in `:on` that he writes. As long as that stands nobody knows whose words came last, should he have died.
local version = call('HGET', KEYS[1], 'v')
if A[5] then call('HDEL', KEYS[1], A[1] .. ':on') end
if not version then return 1 end
if version == A[2] and call('HEXISTS', KEYS[1], A[1] .. ':on') == 0 then
  call('HSET', KEYS[1], A[1] .. ':as', A[3])
  if call('ZSCORE', KEYS[2], KEYS[1]) then call('ZADD', KEYS[2], 'LT', now, KEYS[1]) end
  return 1
end
call('HDEL', KEYS[1], A[1] .. ':as')
look_together(KEYS[2], KEYS[3], KEYS[1], A[4], now)
return 0
