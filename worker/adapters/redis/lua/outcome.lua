-- Somebody did something about a pull request, told and counted once. A verdict on the whole of it is due at its close,
-- after `most` events, or after a while without any; and at every outcome that comes after one was made.
-- KEYS told stream outcomes watch lookahead   ARGV told_s keep_ms event outcome outcomes_s watch_s is_event most window_ms is_end
if not call('SET', KEYS[1], 1, 'NX', 'EX', A[1]) then return 0 end
if A[3] ~= '' then
  tell(KEYS[2], A[2], 'outcome.recorded', A[3])
  call('RPUSH', KEYS[3], A[4])
  call('EXPIRE', KEYS[3], A[5])
end
if call('EXISTS', KEYS[4]) == 0 then return 1 end
call('EXPIRE', KEYS[4], A[6])
local events = call('HINCRBY', KEYS[4], 'events', A[7])
local is_due = A[10] == '1' or events >= tonumber(A[8])
if call('HEXISTS', KEYS[4], 'made') == 1 then is_due = A[3] ~= '' end
local at = tonumber(call('ZSCORE', KEYS[5], KEYS[4]) or now)
if is_due then
  call('ZADD', KEYS[5], math.min(at, now), KEYS[4])
elseif at > now then
  call('ZADD', KEYS[5], now + A[9], KEYS[4])
end
return 1
