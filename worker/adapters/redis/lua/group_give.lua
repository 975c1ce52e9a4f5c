-- Which job may judge this merge group: the one that waits for its turn already (that is nobody's failure), or a new one.
-- Empty: none, since something newer was told of it. It comes again after the hold, unless the job takes it.
-- KEYS groups texts tries holds   ARGV id delivery token hold_ms
local known = call('HGET', KEYS[2], A[1])
if not known or cjson.decode(known).group.delivery_id ~= A[2] then return '' end
local hold = call('HGET', KEYS[4], A[1]) or ''
local token = hold:match('^given (%S+)$')
if token then
  call('HDEL', KEYS[3], A[1], A[1] .. ' run', A[1] .. ' spared')
else
  token = A[3]
  call('HSET', KEYS[4], A[1], 'given ' .. token)
end
call('ZADD', KEYS[1], now + A[4], A[1])
return token
