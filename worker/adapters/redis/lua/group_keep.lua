-- The judge of a merge group goes on. 0: another one took over, or GitHub gave the group up.
-- KEYS groups texts holds   ARGV id delivery token taker lease_ms
local known = call('HGET', KEYS[2], A[1])
if call('HGET', KEYS[3], A[1]) ~= 'held ' .. A[3] .. ' ' .. A[4] then return 0 end
if not known or cjson.decode(known).group.delivery_id ~= A[2] then return 0 end
call('ZADD', KEYS[1], now + A[5], A[1])
return 1
