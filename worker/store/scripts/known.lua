-- What was last asked of the pull requests in an index that are not closed.
-- KEYS index (a set, or a zset)   ARGV prefix most
local numbers = {}
local kind = call('TYPE', KEYS[1]).ok
if kind == 'set' then numbers = call('SRANDMEMBER', KEYS[1], A[2]) end
if kind == 'zset' then numbers = call('ZRANGE', KEYS[1], 0, A[2] - 1, 'REV') end
local found = {}
for _, number in ipairs(numbers) do
  pull = A[1] .. number
  local request = get('req')
  if request and not get('over') then found[#found + 1] = request end
end
return found
