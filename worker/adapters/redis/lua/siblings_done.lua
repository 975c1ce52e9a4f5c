-- The checks of a commit say what they should, as of this version. 0: something was said since.
-- KEYS commits texts tries shown   ARGV version
local version = call('HGET', KEYS[4], 'v')
if version and version ~= A[1] then return 0 end
call('ZREM', KEYS[1], KEYS[4])
call('HDEL', KEYS[2], KEYS[4])
call('HDEL', KEYS[3], KEYS[4])
return 1
