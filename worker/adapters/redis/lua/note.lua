-- What is known of the comment at a pull request; nothing is noted of one that was forgotten.
-- KEYS note pull   ARGV text keep_s
if call('EXISTS', KEYS[2]) == 0 then return 0 end
call('SET', KEYS[1], A[1], 'EX', A[2])
return 1
