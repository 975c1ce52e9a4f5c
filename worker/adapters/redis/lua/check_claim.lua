-- Who creates the check run of this head: its id or its maker's token, or our own token: it is ours to create now;
-- with 'first ' before it where nobody began to before.
-- A creation that was begun stands beside the open check runs, as 0: should its maker die, somebody must look for it.
-- KEYS check checks   ARGV token making_ms head keep_s
local known = call('SET', KEYS[1], A[1], 'NX', 'GET', 'PX', A[2])
if known then return known end
local is_first = call('HSETNX', KEYS[2], A[3], 0)
call('EXPIRE', KEYS[2], A[4])
return (is_first == 1 and 'first ' or '') .. A[1]
