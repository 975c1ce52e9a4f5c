-- Bring back what was given or held and not heard of until its lease ended. Returns how many.
-- KEYS rq_queue...   ARGV hold_ms keep_s most_spared
local brought = 0

-- Whoever held it could not prolong his lease, since the server itself was down: that says nothing against the pull request. Not
-- for ever: a server may go down for what is judged.
local function spare()
  local run = get('run')
  if get('state') == 'held' and run and run ~= server_run() and num('spared') < tonumber(A[3]) then
    call('HINCRBY', pull, 'tries', -1)
    call('HINCRBY', pull, 'spared', 1)
  end
end

local function is_queued()
  for _, queue in ipairs(KEYS) do
    if call('LPOS', queue, 'judge-' .. get('fence')) then return true end
  end
end

for _, lost in ipairs(call('ZRANGE', 'assay:out', 0, now, 'BYSCORE', 'LIMIT', 0, 100)) do
  pull = lost
  if not get('inst') then
    call('ZREM', 'assay:out', pull)
  elseif get('inst') == '0' then -- a laptop's: nobody dispatches it, its person will ask again
    back()
    close(A[2])
  elseif get('state') == 'given' and is_queued() then
    call('ZADD', 'assay:out', now + A[1], pull) -- still in the queue
  else
    spare()
    back()
    in_vain()
    owe()
    brought = brought + 1
  end
end
return brought
