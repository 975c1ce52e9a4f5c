-- An evaluation begins, under the fence that its note names; an earlier one of this pull request is over by that.
-- -1: another judge took over, and nothing is told.
-- KEYS pull stream   ARGV eval_id note event hold_ms keep_ms fence
lose_dead(A[4])
if call('HEXISTS', 'assay:evals', A[1]) == 1 then return 0 end
if not may_record('', A[6], '') then return -1 end
lose_own()
call('HSET', pull, 'eval', A[1])
call('HSET', 'assay:evals', A[1], A[2])
call('ZADD', 'assay:evals:by', now + A[4], A[1])
tell(KEYS[2], A[5], 'eval.started', A[3])
return 1
