-- Whole keys of one repository are gone, and what the dispatcher and the watchdog know of them. Answers how many were there.
-- KEYS deadlines notes tombstone key...   ARGV installation time
call('SET', KEYS[3], A[2])
local gone = 0
for number = 4, #KEYS do
  local key = KEYS[number]
  for _, what in ipairs({'due', 'opening', 'due_outside', 'opening_outside'}) do call('ZREM', 'assay:' .. A[1] .. ':' .. what, key) end
  call('SREM', 'assay:' .. A[1] .. ':out', key)
  call('SREM', 'assay:out_outside', key)
  call('ZREM', 'assay:out', key)
  if call('HGET', 'assay:gave', 'pull') == key then call('DEL', 'assay:gave') end
  call('ZREM', 'assay:lookahead', key)
  call('ZREM', KEYS[1], key)
  call('HDEL', KEYS[2], key)
  gone = gone + call('UNLINK', key)
end
return gone
