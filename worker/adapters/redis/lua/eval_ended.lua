-- An evaluation ends without an entry in the ledger. 1: this ended it; 0: it had ended before.
-- KEYS stream   ARGV eval_id keep_ms kind event
if end_eval(A[1]) == 0 then return 0 end
tell(KEYS[1], A[2], A[3], A[4])
return 1
