-- This pull request does not wait for the end of a pause any more, if it did. 1: it did.
-- KEYS shelf shelves   ARGV pull place
local was = call('HDEL', KEYS[1], A[1])
if call('EXISTS', KEYS[1]) == 0 then call('ZREM', KEYS[2], A[2]) end
return was
