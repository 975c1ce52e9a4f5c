-- What the dispatcher does next, fairly by installation. {} when there is nothing.
-- No KEYS: which pull request it is, is found out here.
-- ARGV lane('due'|'opening') call hold_ms per_installation total
local lane, turns = A[1], 'assay:turn:' .. A[1]
local gave = call('HMGET', 'assay:gave', 'call', 'pull', 'fence')
if gave[1] == A[2] then
  pull = gave[2]
  return {pull, gave[3], get('req')}
end
if lane == 'due' and call('ZCARD', 'assay:out') >= tonumber(A[5]) then return {} end
-- A stranger's pull request gives way to all others of its installation whose time has come: however many there are, nobody else
-- waits for them.
local function candidate_of(waiting)
  local earliest = first(waiting)
  pull = earliest[1]
  if not pull or tonumber(earliest[2]) > now or not get('outside') then return earliest end
  local ready = call('ZRANGE', waiting, 0, now, 'BYSCORE', 'LIMIT', 0, 2000, 'WITHSCORES')
  for at = 1, #ready, 2 do
    pull = ready[at]
    if not get('outside') then return {ready[at], ready[at + 1]} end
  end
  return earliest
end

for _ = 1, 50 do
  local entry = first(turns)
  local installation = entry[1]
  if not installation or tonumber(entry[2]) > now then return {} end
  local waiting, out = 'assay:' .. installation .. ':' .. lane, 'assay:' .. installation .. ':out'
  local candidate = candidate_of(waiting)
  pull = candidate[1]
  if not pull or (lane == 'due' and call('SCARD', out) >= tonumber(A[4])) then
    call('ZREM', turns, installation)
  elseif tonumber(candidate[2]) > now then
    call('ZADD', turns, candidate[2], installation)
  elseif not get('req') then
    call('ZREM', waiting, pull)
  elseif lane == 'opening' then
    call('ZADD', turns, now, installation)
    call('ZADD', waiting, now + A[3], pull)
    return {pull, get('head'), get('req'), get('seq') or ''}
  else
    local fence = call('INCR', 'assay:count')
    call('ZADD', turns, now, installation)
    call('ZREM', waiting, pull)
    call('HDEL', pull, 'due', 'since', 'after', 'limit')
    call('HSET', pull, 'state', 'given', 'fence', fence)
    call('ZADD', 'assay:out', now + A[3], pull)
    call('SADD', out, pull)
    call('HSET', 'assay:gave', 'call', A[2], 'pull', pull, 'fence', fence)
    return {pull, fence, get('req')}
  end
end
return {}
