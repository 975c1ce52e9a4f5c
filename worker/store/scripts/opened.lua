-- The check run of this head is open, or never will be.
-- KEYS pull   ARGV head seq
-- seq: of the request that it was opened for; '': whichever. Whoever opens it holds its turn until later: where that is now and the
-- request is another one, something else has come that the check is to say.
local at = get('inst') and get('head') == A[1] and call('ZSCORE', mine_key('opening'), pull)
if at and (A[2] == '' or get('seq') == A[2] or tonumber(at) > now) then call('ZREM', mine_key('opening'), pull) end
return 1
