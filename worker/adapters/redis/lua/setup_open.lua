-- One more one-time token of the setup page, by its hash.
-- KEYS setup   ARGV hash ttl
call('HSET', KEYS[1], 'token:' .. A[1], 1)
call('PEXPIRE', KEYS[1], A[2])
return 1
