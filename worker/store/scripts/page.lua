-- A page of an installation's stream as one text, an entry a line: id, kind and event, with tabs between them; for who reads
-- many, a tenth of the work of reading them as lists. What has a line break or a tab in it was not written by us: its event
-- is left out. Answers the last id, then the text.
-- KEYS stream   ARGV start end count [kind]...: only these kinds, or all
local wanted = {}
for at = 4, #A do wanted[A[at]] = true end
local parts, last, n = {}, '', 0 -- in parts: a text that is put together in between is copied and hashed
for _, entry in ipairs(call('XRANGE', KEYS[1], A[1], A[2], 'COUNT', A[3])) do
  local fields = entry[2]
  local kind, event = fields[2] or '', fields[4] or ''
  last = entry[1]
  if #A == 3 or wanted[kind] then
    if kind:find('[\t\n]') then kind = '' end
    if event:find('\n', 1, true) then event = '' end
    parts[n + 1], parts[n + 2], parts[n + 3], parts[n + 4], parts[n + 5], parts[n + 6] = last, '\t', kind, '\t', event, '\n'
    n = n + 6
  end
end
return {last, table.concat(parts)}
