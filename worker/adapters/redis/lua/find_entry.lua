-- Which of these ledgers holds this entry, and the entry; nothing where none does.
-- KEYS ledgers   ARGV eval_id
for _, ledger in ipairs(KEYS) do
  local entry = call('HGET', ledger, A[1])
  if entry then return {ledger, entry} end
end
return {}
