-- One entry of the ledger: only by the judge that holds the pull request, and only once.
-- KEYS pull ledger   ARGV fence eval_id entry
if call('HEXISTS', KEYS[2], A[2]) == 1 then return 'there' end
if get('state') ~= 'held' or get('fence') ~= A[1] or not lease_runs() then return 'lost' end
call('HSET', KEYS[2], A[2], A[3])
return 'written'
