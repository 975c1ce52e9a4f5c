-- One entry of the ledger: only by the judge that holds the pull request, or beside its parent, and only once;
-- and what is told of it, in the same breath. An evaluation that was given up for lost meanwhile has no entry either.
-- KEYS pull ledger named stream   ARGV fence parent eval_id entry numbers keep_ms [kind event]...
if call('HEXISTS', KEYS[2], A[3]) == 1 then return 'there' end
if not may_record(KEYS[2], A[1], A[2]) then return 'lost' end
if A[7] and A[2] == '' and end_eval(A[3]) == 0 then return 'lost' end
call('HSET', KEYS[2], A[3], A[4])
if A[2] == '' then call('PERSIST', KEYS[2]) end -- whose pull request is judged lives
call('SADD', KEYS[3], A[5])
for at = 7, #A, 2 do tell(KEYS[4], A[6], A[at], A[at + 1]) end
return 'written'
