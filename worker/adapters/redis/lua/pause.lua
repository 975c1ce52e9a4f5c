-- Stop judging: in one repository, or everywhere. What was said before is replaced.
-- KEYS paused   ARGV suspension until_ms('': until resumed)
if A[2] == '' then call('SET', KEYS[1], A[1]) else call('SET', KEYS[1], A[1], 'PXAT', A[2]) end
return 1
