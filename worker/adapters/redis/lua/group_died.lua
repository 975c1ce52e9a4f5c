-- The process of this job is dead: its merge group is looked at again now. 0: it was done, or somebody else's.
-- KEYS groups holds   ARGV id token
local hold = call('HGET', KEYS[2], A[1]) or ''
if hold ~= 'given ' .. A[2] and hold:match('^held (%S+) ') ~= A[2] then return 0 end
call('HDEL', KEYS[2], A[1])
call('ZADD', KEYS[1], now, A[1])
return 1
