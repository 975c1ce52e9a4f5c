-- This pull request is closed, or its head is another commit, as GitHub says: it counts here no more.
-- KEYS pull commits texts [shown]   ARGV number places place; without `shown` it is where its check said anything last
local last = get('said')
local shown = KEYS[4] or (last and A[2] .. last)
if not shown or call('HEXISTS', shown, A[1]) == 0 then return 0 end
call('HSET', shown, A[1] .. ':left', 1)
look_together(KEYS[2], KEYS[3], shown, KEYS[4] and A[3] or A[3] .. last .. '"}', now)
return 1
