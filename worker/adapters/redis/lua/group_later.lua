-- Look at this merge group again after a while, as if for the first time: only deaths count as tries.
-- 0: something newer was told of it meanwhile, and that is looked at.
-- KEYS groups texts tries holds   ARGV id delivery text delay_ms
local known = call('HGET', KEYS[2], A[1])
if not known or cjson.decode(known).group.delivery_id ~= A[2] then return 0 end
call('HSET', KEYS[2], A[1], A[3])
call('HDEL', KEYS[3], A[1], A[1] .. ' run', A[1] .. ' spared')
call('HDEL', KEYS[4], A[1])
call('ZADD', KEYS[1], now + A[4], A[1])
return 1
