-- A job begins to judge. A fence admits one token; the same token again gets the same answer.
-- KEYS pull   ARGV fence token lease_ms
local state = get('state')
if get('fence') ~= A[1] or (state ~= 'given' and not held_by(A[2])) then return {'stale'} end
if state == 'given' then
  if num('due') > now then -- pushed again while in the queue: the quiet window goes on
    back()
    owe()
    return {'early'}
  end
  hold(A[2], A[3])
else
  call('ZADD', 'assay:out', now + A[3], pull)
end
return {'go', get('tries'), get('flags') or '', get('req'), get('waiting') or '', get('came') or '', get('head') or '', get('aways') or 0}
