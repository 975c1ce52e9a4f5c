-- Check runs that should have been concluded by now. They come again after the hold, unless concluded.
-- KEYS deadlines notes   ARGV hold_ms
local found = {}
for _, check in ipairs(call('ZRANGE', KEYS[1], 0, now, 'BYSCORE', 'LIMIT', 0, 20)) do
  local note = call('HGET', KEYS[2], check)
  if note then
    call('ZADD', KEYS[1], now + A[1], check)
    found[#found + 1] = note
  else
    call('ZREM', KEYS[1], check)
  end
end
return found
