-- Of each file of a repository's configuration: keep it as the last good one, forget it, or ask for the last good one.
-- What is kept already is not written again.
-- KEYS config   ARGV lifetime_s, then of each file: name keep|forget|ask digest text
local found = {}
for at = 2, #A, 4 do
  local name, what, digest = A[at], A[at + 1], A[at + 2]
  if what == 'forget' then
    call('HDEL', KEYS[1], name, name .. ':of')
  elseif what == 'ask' then
    local kept = call('HGET', KEYS[1], name)
    if kept then found[#found + 1] = name; found[#found + 1] = kept end
  elseif call('HGET', KEYS[1], name .. ':of') ~= digest then
    call('HSET', KEYS[1], name, A[at + 3], name .. ':of', digest)
  end
end
call('EXPIRE', KEYS[1], A[1])
return found
