-- An installation left: forgotten after the grace.
-- KEYS leaving   ARGV installation grace_ms
return call('ZADD', KEYS[1], 'NX', now + A[2], A[1])
