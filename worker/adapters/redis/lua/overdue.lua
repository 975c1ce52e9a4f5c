-- Check runs that should have been concluded by now. They come again after the hold, unless concluded. One whose pull request is
-- judged again as soon as GitHub answers, or once other checks end, is left to that; one whose pull request's open checks went with their time is let go.
-- KEYS deadlines notes   ARGV hold_ms
local found = {}
for _, check in ipairs(call('ZRANGE', KEYS[1], 0, now, 'BYSCORE', 'LIMIT', 0, 20)) do
  local note = call('HGET', KEYS[2], check)
  if note then
    call('ZADD', KEYS[1], now + A[1], check)
    local of, head = string.match(check, '^(.*):(.-)$')
    pull = string.gsub(of or '', ':check:', ':pull:', 1)
    local judged = call('HMGET', pull, 'state', 'aways', 'waiting')
    if head and call('HEXISTS', string.gsub(of, ':check:', ':checks:', 1), head) == 0 then
      call('ZREM', KEYS[1], check)
      call('HDEL', KEYS[2], check)
    elseif not (judged[1] and (judged[2] or judged[3])) then
      found[#found + 1] = note
    end
  else
    call('ZREM', KEYS[1], check)
  end
end
return found
