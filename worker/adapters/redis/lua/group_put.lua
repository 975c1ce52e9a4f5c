-- Take down what GitHub told of a merge group. 0: this delivery's was taken down before.
-- What the group is stays for a while, so that somebody may ask for its check again, or close what was written to it too late.
-- KEYS grouped groups texts known   ARGV id text grouped_s group keep_s
if not call('SET', KEYS[1], 1, 'NX', 'EX', A[3]) then return 0 end
call('HSET', KEYS[3], A[1], A[2])
call('ZADD', KEYS[2], now, A[1])
call('SET', KEYS[4], A[4], 'EX', A[5])
return 1
