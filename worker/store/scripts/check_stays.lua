-- GitHub shows a pull request open at this head: what is remembered of both stays for as long again. 0: it has no check run, or we
-- heard last of another head, where nobody waits for a judge: its check was left when that one came.
-- Nor one that we take for closed for longer than such a list is old, and nobody looks: that was told late, or nobody told that it
-- was reopened. What is remembered stays, and WANT has it open again.
-- KEYS check pull checks resting shown heads [remembered]...   ARGV keep_s head list_ms
local known, at = call('GET', KEYS[1]), call('HMGET', KEYS[2], 'head', 'state', 'over')
if at[3] and not at[2] and now - at[3] > tonumber(A[3]) then
  for number = 7, #KEYS do call('PERSIST', KEYS[number]) end
  return 0
end
if not known or (at[1] and at[1] ~= A[2] and not at[2]) then return 0 end
if string.match(known, '^making ') then return 1 end
for number = 1, 6 do
  local left = call('TTL', KEYS[number])
  if left >= 0 and left < A[1] / 2 then call('EXPIRE', KEYS[number], A[1]) end
end
return 1
