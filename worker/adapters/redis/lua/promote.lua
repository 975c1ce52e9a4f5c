-- A person makes a signal a fact again; its rejects are counted from now on. 1: it was a suspicion.
-- KEYS demoted promoted   ARGV signal
call('HSET', KEYS[2], A[1], string.format('%.0f', now))
return call('HDEL', KEYS[1], A[1])
