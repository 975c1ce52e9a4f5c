-- A pull request that closes an issue was judged: which ones of its repository were before it.
-- KEYS solving   ARGV repository number solving_s
local member = A[1] .. ':' .. A[2]
local mine = tonumber(call('ZSCORE', KEYS[1], member) or 0)
if mine == 0 then -- the first verdict
  mine = now
  call('ZADD', KEYS[1], mine, member)
end
call('EXPIRE', KEYS[1], A[3])
local rivals = {}
local all = call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for at = 1, #all, 2 do
  local number, first = string.match(all[at], '^' .. A[1] .. ':(%d+)$'), tonumber(all[at + 1])
  if number and number ~= A[2] and first > 0 and first < mine then rivals[#rivals + 1] = number end
end
return rivals
