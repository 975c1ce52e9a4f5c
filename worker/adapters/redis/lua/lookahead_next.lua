-- The next pull request to make a verdict on the whole of; it comes again after the hold, unless that is done.
-- KEYS lookahead   ARGV hold_ms
for _ = 1, 20 do
  local watch = call('ZRANGE', KEYS[1], 0, now, 'BYSCORE', 'LIMIT', 0, 1)[1]
  if not watch then return {} end
  local found = call('HGET', watch, 'pull')
  if found then
    call('ZADD', KEYS[1], now + A[1], watch)
    return {found, call('HGET', watch, 'turn'), call('HEXISTS', watch, 'made')}
  end
  call('ZREM', KEYS[1], watch)
end
return {}
