-- What was asked for was done, unless it was asked for again meanwhile.
-- KEYS decisions   ARGV [field value]...
for at = 1, #A, 2 do
  if call('HGET', KEYS[1], A[at]) == A[at + 1] then call('HDEL', KEYS[1], A[at]) end
end
return 1
