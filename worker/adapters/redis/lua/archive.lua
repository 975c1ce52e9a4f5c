-- What a verdict was made from, and how: by the judge that holds the pull request (of the opinions that led to it, too), or
-- beside the verdict it judges anew.
-- The list of the repository loses what is gone already, and lives as long as the last of what is on it.
-- What is judged anew stays no longer than what it was judged from.
-- KEYS pull ledger dossier audit kept parent's   ARGV fence parent eval_id keep_s dossier audit
if not may_record(KEYS[2], A[1], A[2]) and not may_record(KEYS[2], A[1], '') then return 'lost' end
local keep_s = A[2] == '' and tonumber(A[4]) or max(1, call('TTL', KEYS[6]))
call('SET', KEYS[3], A[5], 'EX', keep_s)
call('SET', KEYS[4], A[6], 'EX', keep_s)
call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now)
call('ZADD', KEYS[5], now + keep_s * 1000, A[3])
call('EXPIRE', KEYS[5], keep_s, 'NX')
call('EXPIRE', KEYS[5], keep_s, 'GT')
return 'kept'
