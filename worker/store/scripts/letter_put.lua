-- The author of this pull request may have to be told of something; in the place of what they were not told yet.
-- KEYS letters texts tries   ARGV id text
call('HSET', KEYS[2], A[1], A[2])
call('HDEL', KEYS[3], A[1])
call('ZADD', KEYS[1], now, A[1])
return 1
