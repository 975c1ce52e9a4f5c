-- GitHub answers this installation again: a few of what waits for that follow.
-- KEYS retries   ARGV most gap_ms
release(KEYS[1], tonumber(A[1]), tonumber(A[2]))
return 1
