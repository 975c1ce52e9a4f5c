-- Whether this is to be answered: not if another delivery's answer says the same, and not beyond so many answers.
-- KEYS answered   ARGV what delivery most keep_s
local known = call('HGET', KEYS[1], A[1])
if known then return known == A[2] and 1 or 0 end
if call('HLEN', KEYS[1]) >= tonumber(A[3]) then return 0 end
call('HSET', KEYS[1], A[1], A[2])
call('EXPIRE', KEYS[1], A[4])
return 1
