-- Set money aside in the book of a run. {1, used} if there is room up to the limit; else {0, used}, and the book says at
-- which limit it was full.
-- KEYS book   ARGV name amount limit ttl_s
-- Amounts are whole nanodollars. A refusal keeps no book alive for longer than what was spent in it did.
local used, open = tonumber(call('HGET', KEYS[1], 'used') or 0), 'open:' .. A[1]
if call('HEXISTS', KEYS[1], open) == 1 then return {1, used} end
local has_room = used + A[2] <= tonumber(A[3])
if has_room then
  call('HINCRBY', KEYS[1], 'used', A[2])
  call('HSET', KEYS[1], open, A[2])
else
  call('HSET', KEYS[1], 'full', A[3])
end
if has_room or call('TTL', KEYS[1]) < 0 then call('EXPIRE', KEYS[1], A[4]) end
return {has_room and 1 or 0, used}
