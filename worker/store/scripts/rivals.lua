-- A pull request that closes an issue was judged: which ones were before it.
-- KEYS solving   ARGV number solving_s
call('ZADD', KEYS[1], 'NX', now, A[1])
call('EXPIRE', KEYS[1], A[2])
local mine, rivals = tonumber(call('ZSCORE', KEYS[1], A[1])), {}
local all = call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for at = 1, #all, 2 do
  if all[at] ~= A[1] and tonumber(all[at + 1]) < mine then rivals[#rivals + 1] = all[at] end
end
return rivals
