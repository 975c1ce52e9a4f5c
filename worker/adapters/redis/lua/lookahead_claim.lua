-- A verdict on the whole of a pull request is about to be recorded. Whoever died between that and its end left its id:
-- there, if it is in the ledger, else it is used again. Nothing of it is watched any more: {}.
-- KEYS watch ledger   ARGV eval_id outcomes
if call('EXISTS', KEYS[1]) == 0 then return {} end
call('HSETNX', KEYS[1], 'next', A[1])
local id = call('HGET', KEYS[1], 'next')
local there = call('HEXISTS', KEYS[2], id)
if there == 0 then call('HSET', KEYS[1], 'counted', A[2]) end
return {id, there}
