-- One entry of the ledger: only by the judge that holds the pull request, or beside its parent, and only once;
-- and what is told of it, and the entries that came of it and stand beside it, in the same breath: whoever dies after this
-- has lost none of them. An evaluation that was given up for lost meanwhile has no entry either.
-- KEYS pull ledger named stream [beside the ledger]...   ARGV fence parent eval_id entry numbers keep_ms count [kind event]...
-- and for each entry beside it: eval_id entry count [kind event]...   A count says how many pairs follow.
if call('HEXISTS', KEYS[2], A[3]) == 1 then return 'there' end
if not may_record(KEYS[2], A[1], A[2]) then return 'lost' end
if A[7] ~= '0' and A[2] == '' and end_eval(A[3]) == 0 then return 'lost' end
local at = 8
local function write(eval_id, entry, count)
  call('HSET', KEYS[2], eval_id, entry)
  for _ = 1, count do
    tell(KEYS[4], A[6], A[at], A[at + 1])
    at = at + 2
  end
end
write(A[3], A[4], tonumber(A[7]))
if A[2] == '' then -- whose pull request is judged lives, unless it was closed meanwhile
  local ends = ends_at()
  if ends then call('PEXPIREAT', KEYS[2], ends) else call('PERSIST', KEYS[2]) end
  for number = 5, #KEYS do end_with(KEYS[2], KEYS[number]) end
end
call('SADD', KEYS[3], A[5])
while at <= #A do
  at = at + 3
  write(A[at - 3], A[at - 2], tonumber(A[at - 1]))
end
return 'written'
