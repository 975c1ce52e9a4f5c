-- Check runs that are open though nobody is to judge their pull request, or to answer their merge group (number 0), and that were
-- begun longer ago than any judge keeps silent: whoever wrote them last had been overtaken and died before he could ask for one
-- that sets it right.
-- KEYS deadlines notes groups   ARGV deadline_ms grace_ms
local found = {}
for _, check in ipairs(call('ZRANGE', KEYS[1], 0, now + A[1] - A[2], 'BYSCORE', 'LIMIT', 0, 1000)) do
  local note = call('HGET', KEYS[2], check)
  pull = string.gsub(string.match(check, '^(.*):') or '', ':check:', ':pull:', 1)
  local inst, repository, head = string.match(check, '^assay:(%d+):check:(%d+):0:(%x+)$')
  local is_stray
  if inst then
    is_stray = not call('ZSCORE', KEYS[3], inst .. ':' .. repository .. ':' .. head)
  else
    is_stray = get('inst') and not get('state')
  end
  if note and is_stray then found[#found + 1] = note end
end
return found
