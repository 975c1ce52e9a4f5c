-- What GitHub said of a rate limit; of two answers about the same hour the one that leaves less is the later.
-- KEYS rate   ARGV resource remaining reset_s keep_s
local known = call('HGET', KEYS[1], A[1])
if known then
  local remaining, reset = string.match(known, '^(%d+) (%d+)$')
  if reset == A[3] and tonumber(remaining) < tonumber(A[2]) then return 0 end
  if tonumber(reset) > tonumber(A[3]) then return 0 end
end
call('HSET', KEYS[1], A[1], A[2] .. ' ' .. A[3])
call('EXPIRE', KEYS[1], A[4])
return 1
