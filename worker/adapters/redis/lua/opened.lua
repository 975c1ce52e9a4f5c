-- The check run of this head is open, or never will be.
-- KEYS pull   ARGV head seq
-- seq: of the request that it was opened for; '': whichever. Whoever opens it holds its turn until later: where that is now and the
-- request is another one, something else has come that the check is to say.
local line = get('inst') and mine_key(line_of('opening'))
local at = line and get('head') == A[1] and call('ZSCORE', line, pull)
if at and (A[2] == '' or get('seq') == A[2] or tonumber(at) > now) then call('ZREM', line, pull) end
return 1
