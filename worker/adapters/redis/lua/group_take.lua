-- A job begins to judge a merge group: what is known of it. A token admits one taker; the same taker again gets the same.
-- One that GitHub gave up is nobody's to judge.
-- KEYS groups texts tries holds   ARGV id token taker lease_ms
local hold = call('HGET', KEYS[4], A[1])
local mine = 'held ' .. A[2] .. ' ' .. A[3]
local known = call('HGET', KEYS[2], A[1])
if known and cjson.decode(known).group.ended ~= cjson.null then return {} end
if not known or (hold ~= 'given ' .. A[2] and hold ~= mine) then return {} end
call('HSET', KEYS[4], A[1], mine)
call('ZADD', KEYS[1], now + A[4], A[1])
return {known, call('HGET', KEYS[3], A[1]) or 1}
