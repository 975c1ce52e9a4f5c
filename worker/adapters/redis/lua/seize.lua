-- A laptop judges: no queue, no dispatcher, the lease at once or not at all.
-- KEYS pull   ARGV installation token lease_ms request
if held_by(A[2]) then return {'go', get('fence')} end
if get('state') and lease_runs() then return {'taken'} end
call('PERSIST', pull)
call('HDEL', pull, 'tries')
call('HSET', pull, 'inst', A[1], 'req', A[4], 'seq', call('INCR', 'assay:count'), 'fence', call('INCR', 'assay:count'))
hold(A[2], A[3])
call('SADD', mine_key('out'), pull)
return {'go', get('fence')}
