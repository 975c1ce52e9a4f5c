-- The check run of this head is open, or never will be.
-- KEYS pull   ARGV head
if get('inst') and get('head') == A[1] then call('ZREM', mine_key('opening'), pull) end
return 1
