-- Check runs that are open though nobody is to judge their pull request, and that were begun longer ago than any judge keeps
-- silent: whoever wrote them last had been overtaken and died before he could ask for one that sets it right.
-- KEYS deadlines notes   ARGV deadline_ms grace_ms
local found = {}
for _, check in ipairs(call('ZRANGE', KEYS[1], 0, now + A[1] - A[2], 'BYSCORE', 'LIMIT', 0, 1000)) do
  local note = call('HGET', KEYS[2], check)
  pull = string.gsub(string.match(check, '^(.*):') or '', ':check:', ':pull:', 1)
  if note and get('inst') and not get('state') then found[#found + 1] = note end
end
return found
