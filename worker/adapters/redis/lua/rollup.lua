-- Rollups are carried on, by whoever knows them as they are. 1: written; 0: somebody else was faster, or dropped them.
-- An empty value deletes its field.
-- KEYS rollup pulls   ARGV before after rollups [field value]... [pull value]...
local call, A = redis.call, ARGV
if (call('HGET', KEYS[1], 'mark') or '') ~= A[1] then return 0 end
call('HSET', KEYS[1], 'mark', A[2])
local border = 3 + 2 * A[3]
for at = 4, #A, 2 do
  local key = at <= border and KEYS[1] or KEYS[2]
  if A[at + 1] == '' then call('HDEL', key, A[at]) else call('HSET', key, A[at], A[at + 1]) end
end
return 1
