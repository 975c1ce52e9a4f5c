-- An evaluation begins, under the fence that its note names; an earlier one of this pull request is over by that.
-- -1: another judge took over, and nothing is told. Each judging waits for this: it asks Redis as little as it can, so others
-- look after the dead, and who ends an evaluation trims the stream.
-- KEYS pull stream   ARGV eval_id note event hold_ms fence
local held = call('HMGET', pull, 'state', 'fence', 'eval')
if held[1] ~= 'held' or held[2] ~= A[5] or not lease_runs() then return -1 end
if held[3] == A[1] then return 0 end -- sent twice: it began, and may have ended
local before = held[3] and call('HGET', 'assay:evals', held[3])
if before then lose(held[3], before) end
call('HSET', pull, 'eval', A[1])
call('HSET', 'assay:evals', A[1], A[2])
call('ZADD', 'assay:evals:by', now + A[4], A[1])
call('XADD', KEYS[2], '*', 'k', 'eval.started', 'j', A[3])
return 1
