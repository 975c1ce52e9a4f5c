-- Nobody judged this pull request, since judging is paused here: it is judged when that is over.
-- KEYS shelf shelves   ARGV pull place request look_ms keep_s
call('HSET', KEYS[1], A[1], A[3])
call('EXPIRE', KEYS[1], A[5])
call('ZADD', KEYS[2], 'LT', now + A[4], A[2])
return 1
