-- This dispatcher stops: the next one need not wait for its lease to end.
-- KEYS leader   ARGV token
if call('GET', KEYS[1]) == A[1] then call('DEL', KEYS[1]) end
return 1
