-- A pull request was merged: whose the commit on the base branch is, and what it changed.
-- KEYS added merges [commit]   ARGV sealed added_s number merges_s
call('SET', KEYS[1], A[1], 'NX', 'EX', A[2])
call('ZADD', KEYS[2], 'NX', now, A[3])
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - A[4] * 1000)
call('EXPIRE', KEYS[2], A[4])
if KEYS[3] then call('SET', KEYS[3], A[3], 'NX', 'EX', A[2]) end
return 1
