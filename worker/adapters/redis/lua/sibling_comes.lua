-- This commit is the head of this pull request again, whose check there said something before.
-- KEYS pull shown commits texts   ARGV number head places place
if call('HEXISTS', KEYS[2], A[1]) == 0 then return 0 end
call('HDEL', KEYS[2], A[1] .. ':left')
look_together(KEYS[3], KEYS[4], KEYS[2], A[4] .. A[2] .. '"}', now)
local last = get('said')
if get('head') == A[2] and last ~= A[2] then
  call('HSET', pull, 'said', A[2])
  if last then look_together(KEYS[3], KEYS[4], A[3] .. last, A[4] .. last .. '"}', now) end
end
return 1
