-- The quiet window that the configuration at a base sets; empty: none.
-- KEYS window   ARGV ms keep_s
if A[1] == '' then return call('DEL', KEYS[1]) end
call('SET', KEYS[1], A[1], 'EX', A[2])
return 1
