-- Something happened that may be an outcome: noted for whoever may look into ledgers. 'unknown': about nothing that we judged.
-- KEYS heard queue texts [known]...: one of the known ones has to be there, if any is named   ARGV id text heard_s
local known = #KEYS == 3
for number = 4, #KEYS do known = known or call('EXISTS', KEYS[number]) == 1 end
if not known then return 'unknown' end
if not call('SET', KEYS[1], 1, 'NX', 'EX', A[3]) then return 'duplicate' end
call('HSET', KEYS[3], A[1], A[2])
call('ZADD', KEYS[2], now, A[1])
return 'queued'
