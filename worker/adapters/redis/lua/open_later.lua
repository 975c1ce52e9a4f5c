-- The check run of this head could not be opened now: try again after a while.
-- KEYS pull   ARGV head delay_ms
if get('inst') and get('head') == A[1] and call('ZSCORE', mine_key(line_of('opening')), pull) then waits('opening', now + A[2]) end
return 1
