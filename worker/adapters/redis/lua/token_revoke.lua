-- The token of this name opens nothing any more. 0: there is none.
-- KEYS tokens names   ARGV name
local hash = call('HGET', KEYS[2], A[1])
if not hash then return 0 end
call('HDEL', KEYS[1], hash)
return call('HDEL', KEYS[2], A[1])
