-- One entry of the ledger: only by the judge that holds the pull request, or beside its parent, and only once.
-- KEYS pull ledger named   ARGV fence parent eval_id entry numbers
if call('HEXISTS', KEYS[2], A[3]) == 1 then return 'there' end
if not may_record(KEYS[2], A[1], A[2]) then return 'lost' end
call('HSET', KEYS[2], A[3], A[4])
call('SADD', KEYS[3], A[5])
return 'written'
