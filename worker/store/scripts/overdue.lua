-- Check runs that should have been concluded by now. They come again after the hold, unless concluded. One whose pull request is
-- judged again as soon as GitHub answers is left to that.
-- KEYS deadlines notes   ARGV hold_ms
local found = {}
for _, check in ipairs(call('ZRANGE', KEYS[1], 0, now, 'BYSCORE', 'LIMIT', 0, 20)) do
  local note = call('HGET', KEYS[2], check)
  if note then
    call('ZADD', KEYS[1], now + A[1], check)
    pull = string.gsub(string.match(check, '^(.*):') or '', ':check:', ':pull:', 1)
    local of = call('HMGET', pull, 'state', 'aways')
    if not (of[1] and of[2]) then found[#found + 1] = note end
  else
    call('ZREM', KEYS[1], check)
  end
end
return found
