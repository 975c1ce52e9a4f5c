-- What the checks of one commit say: {version, number, state, is it here, as, ...}
-- KEYS shown   ARGV head pulls
local found = {tonumber(call('HGET', KEYS[1], 'v') or 0)}
for _, number in ipairs(siblings(KEYS[1])) do
  local said = call('HMGET', KEYS[1], number, number .. ':left', number .. ':as')
  local is_here = not said[2] and is_at(A[2] .. number, A[1])
  for _, told in ipairs({number, said[1], is_here and 1 or 0, said[3] or ''}) do found[#found + 1] = told end
end
return found
