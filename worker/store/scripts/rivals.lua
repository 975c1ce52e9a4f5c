-- A pull request that closes an issue was judged: which ones of its repository were before it.
-- KEYS solving   ARGV repository number solving_s
local member = A[1] .. ':' .. A[2]
call('ZADD', KEYS[1], 'NX', now, member)
call('EXPIRE', KEYS[1], A[3])
local mine, rivals = tonumber(call('ZSCORE', KEYS[1], member)), {}
local all = call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for at = 1, #all, 2 do
  local number = string.match(all[at], '^' .. A[1] .. ':(%d+)$')
  if number and number ~= A[2] and tonumber(all[at + 1]) < mine then rivals[#rivals + 1] = number end
end
return rivals
