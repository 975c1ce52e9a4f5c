-- Somebody wants this pull request judged. All that the door does.
-- KEYS pull delivery   ARGV installation head request quiet_ms quiet_max_ms flag delivery_s
if not call('SET', KEYS[2], 1, 'NX', 'EX', A[7]) then return {'duplicate', 0} end
local seq, state = call('INCR', 'assay:count'), get('state')
call('PERSIST', pull)
call('HSET', pull, 'seq', seq, 'req', A[3], 'inst', A[1])
local flags = get('flags') or ''
if A[6] ~= '' and not flags:find(A[6], 1, true) then call('HSET', pull, 'flags', flags .. A[6] .. ' ') end
if A[2] ~= '' and A[2] ~= get('head') then
  call('HSET', pull, 'head', A[2])
  call('HDEL', pull, 'waiting')
  call('ZADD', mine_key('opening'), now, pull)
  turn('opening', now)
end
local due = num('due')
if due > 0 and due <= now then return {'coalesced', seq} end
local since = tonumber(get('since') or now)
call('HSET', pull, 'due', math.min(now + A[4], since + A[5]), 'since', since)
if state ~= 'given' and state ~= 'held' then owe() end
return {state and 'coalesced' or 'queued', seq}
