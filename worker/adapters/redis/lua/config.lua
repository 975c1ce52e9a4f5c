-- Of each file of a repository's configuration: keep it as the last good one, forget it, or ask for the last good one.
-- What is kept already is not written again.
-- KEYS config of each file   ARGV lifetime_s, then of each file: name keep|forget|ask digest text
local found = {}
for nth, key in ipairs(KEYS) do
  local at = 4 * nth - 2
  local name, what, digest = A[at], A[at + 1], A[at + 2]
  if what == 'forget' then
    call('HDEL', key, name, name .. ':of')
  elseif what == 'ask' then
    local kept = call('HGET', key, name)
    if kept then found[#found + 1] = name; found[#found + 1] = kept end
  elseif call('HGET', key, name .. ':of') ~= digest then
    call('HSET', key, name, A[at + 3], name .. ':of', digest)
  end
  call('EXPIRE', key, A[1])
end
return found
