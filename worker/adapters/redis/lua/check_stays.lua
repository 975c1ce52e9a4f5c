-- GitHub shows a pull request open at this head: what is remembered of both stays for as long again. 0: it has no check run, or we
-- heard last of another head, where nobody waits for a judge: its check was left when that one came.
-- Nor one that we take for closed for longer than such a list is old, and nobody looks: that was told late, or nobody told that it
-- was reopened. What is remembered stays, and WANT has it open again.
-- What the verdict was made by finds it for as long: it stays in the list of that base, and in those of its issues at the place that
-- it came to first.
-- KEYS check pull checks resting shown heads [remembered]...   ARGV keep_s head list_ms number member into into_s solving solving_s
-- into, solving: how the names of these lists begin; number, member: what it is called in the one and in the others
local known, at = call('GET', KEYS[1]), call('HMGET', KEYS[2], 'head', 'state', 'over', 'by', 'base')
if at[3] and not at[2] and now - at[3] > tonumber(A[3]) then
  for number = 7, #KEYS do call('PERSIST', KEYS[number]) end
  return 0
end
if not known or (at[1] and at[1] ~= A[2] and not at[2]) then return 0 end
if string.match(known, '^making ') then return 1 end
local function prolong(key, keep_s)
  local left = call('TTL', key)
  if left >= 0 and left < keep_s / 2 then call('EXPIRE', key, keep_s) end
end
for number = 1, 6 do prolong(KEYS[number], A[1]) end
local marks = string.gmatch(at[4] or at[5] or '', '%S+')
local base = marks()
if not base then return 1 end
local into = A[6] .. base
local last = call('ZSCORE', into, A[4])
if not at[4] and not last then return 1 end -- nobody judged it
if not last or now - last > A[7] * 1000 / 2 then -- who gets a verdict there has those go that are older
  call('ZADD', into, now, A[4])
  call('EXPIRE', into, A[7])
end
prolong(into, A[7])
for mark in marks do
  call('ZADD', A[8] .. mark, 'NX', 0, A[5])
  if call('TTL', A[8] .. mark) == -1 then call('EXPIRE', A[8] .. mark, A[9]) end
  prolong(A[8] .. mark, A[9])
end
return 1
