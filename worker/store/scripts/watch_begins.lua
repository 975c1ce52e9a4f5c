-- A submission is about to be judged for a base, and by issues: what changes either is about it from now on, before there is a
-- verdict (0: there is none yet by this issue).
-- KEYS into [solving ...]   ARGV number into_s member solving_s
call('ZADD', KEYS[1], now, A[1])
call('EXPIRE', KEYS[1], A[2])
for at = 2, #KEYS do
  call('ZADD', KEYS[at], 'NX', 0, A[3])
  call('EXPIRE', KEYS[at], A[4])
end
return 1
