-- GitHub shows a pull request open at this head: what is remembered of both stays for as long again. 0: it has no check run, or we
-- heard last of another head, where nobody waits for a judge: its check was left when that one came.
-- KEYS check pull, and what else is remembered   ARGV keep_s head
local known, at = call('GET', KEYS[1]), call('HMGET', KEYS[2], 'head', 'state')
if not known or (at[1] and at[1] ~= A[2] and not at[2]) then return 0 end
if string.match(known, '^making ') then return 1 end
for _, key in ipairs(KEYS) do
  local left = call('TTL', key)
  if left >= 0 and left < A[1] / 2 then call('EXPIRE', key, A[1]) end
end
return 1
