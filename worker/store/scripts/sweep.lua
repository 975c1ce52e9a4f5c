-- Bring back what was given or held and not heard of until its lease ended. Returns how many.
-- KEYS rq_queue   ARGV hold_ms keep_s
local brought, queue = 0, KEYS[1]
for _, lost in ipairs(call('ZRANGE', 'assay:out', 0, now, 'BYSCORE', 'LIMIT', 0, 100)) do
  pull = lost
  if not get('inst') then
    call('ZREM', 'assay:out', pull)
  elseif get('inst') == '0' then -- a laptop's: nobody dispatches it, its person will ask again
    back()
    close(A[2])
  elseif get('state') == 'given' and call('LPOS', queue, 'judge-' .. get('fence')) then
    call('ZADD', 'assay:out', now + A[1], pull) -- still in the queue
  else
    back()
    in_vain()
    owe()
    brought = brought + 1
  end
end
return brought
