-- How far a look came.
-- KEYS progress   ARGV value keep_s
call('SET', KEYS[1], A[1], 'EX', A[2])
return 1
