-- What was last asked of the pull requests in an index that are not closed.
-- KEYS index (a set, or a zset: the newest first) [changed]   ARGV prefix most but [changed_s]
-- but: a state; those that are in it are left out
-- changed: what they are known by changed. Who has read it, and is in the index only after this, finds the event's number there.
local most, found = tonumber(A[2]), {}
if KEYS[2] then call('SET', KEYS[2], call('INCR', 'assay:count'), 'EX', A[4]) end

local function look(numbers)
  for _, number in ipairs(numbers) do
    pull = A[1] .. number
    local was = call('HMGET', pull, 'req', 'over', 'state')
    if #found < most and was[1] and not was[2] and (A[3] == '' or was[3] ~= A[3]) then found[#found + 1] = was[1] end
  end
end

local kind = call('TYPE', KEYS[1]).ok
if kind == 'set' then look(call('SRANDMEMBER', KEYS[1], most)) end
if kind == 'zset' then -- what is closed stays there for a while: a few pages are looked through for those that are not
  for first = 0, 9 * most, most do
    local page = call('ZRANGE', KEYS[1], first, first + most - 1, 'REV')
    look(page)
    if #found == most or #page < most then break end
  end
end
return found
