-- This merge group is answered. 0: something newer was told of it meanwhile, and that is not.
-- KEYS groups texts tries holds   ARGV id delivery
local known = call('HGET', KEYS[2], A[1])
if not known or cjson.decode(known).group.delivery_id ~= A[2] then return 0 end
call('ZREM', KEYS[1], A[1])
for number = 2, 4 do call('HDEL', KEYS[number], A[1], A[1] .. ' run', A[1] .. ' spared') end
return 1
