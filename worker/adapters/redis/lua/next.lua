-- What the dispatcher does next, fairly by installation, and of what strangers' forks opened only where nothing else is to be done.
-- {} when there is nothing.
-- No KEYS: which pull request it is, is found out here.
-- ARGV what('due'|'opening') call hold_ms per_installation total outside
-- outside: how many strangers' may be judged at a time, which are none of `total`; of check runs: how many may be opened now
local gave = call('HMGET', 'assay:gave', 'call', 'pull', 'fence', 'outside')
if gave[1] == A[2] then
  pull = gave[2]
  return {pull, gave[3], get('req'), gave[4]}
end

local function has_room()
  if A[1] == 'opening' then return not is_outside or tonumber(A[6]) > 0 end
  local outside = call('SCARD', 'assay:out_outside')
  if is_outside then return outside < tonumber(A[6]) end
  return call('ZCARD', 'assay:out') - outside < tonumber(A[5])
end

local function next_in(line)
  local turns, told = 'assay:turn:' .. line, is_outside and '1' or ''
  for _ = 1, 50 do
    local entry = first(turns)
    local installation = entry[1]
    if not installation or tonumber(entry[2]) > now then return end
    local waiting, out = 'assay:' .. installation .. ':' .. line, 'assay:' .. installation .. ':out'
    local earliest = first(waiting)
    pull = earliest[1]
    if not pull or (line == 'due' and call('SCARD', out) >= tonumber(A[4])) then
      call('ZREM', turns, installation)
    elseif tonumber(earliest[2]) > now then
      call('ZADD', turns, earliest[2], installation)
    elseif not get('req') then
      call('ZREM', waiting, pull)
    elseif A[1] == 'opening' then
      call('ZADD', turns, now, installation)
      call('ZADD', waiting, now + A[3], pull)
      return {pull, get('head'), get('req'), get('seq') or '', told}
    else
      local fence = call('INCR', 'assay:count')
      call('ZADD', turns, now, installation)
      call('ZREM', waiting, pull)
      call('HDEL', pull, 'due', 'since', 'after', 'limit')
      call('HSET', pull, 'state', 'given', 'fence', fence)
      call('ZADD', 'assay:out', now + A[3], pull)
      call('SADD', is_outside and 'assay:out_outside' or out, pull)
      call('HSET', 'assay:gave', 'call', A[2], 'pull', pull, 'fence', fence, 'outside', told)
      return {pull, fence, get('req'), told}
    end
  end
end

for _, line in ipairs({A[1], A[1] .. '_outside'}) do
  is_outside = line ~= A[1]
  local found = has_room() and next_in(line)
  if found then return found end
end
return {}
