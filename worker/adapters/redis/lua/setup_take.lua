-- The state is this taker's, once. 0: nobody began with it, it is too old, or another one has taken it.
-- KEYS setup   ARGV hash taker
local until_when = call('HGET', KEYS[1], 'state:' .. A[1])
if not until_when or tonumber(until_when) < now then return 0 end
call('HSETNX', KEYS[1], 'taken:' .. A[1], A[2])
return call('HGET', KEYS[1], 'taken:' .. A[1]) == A[2] and 1 or 0
