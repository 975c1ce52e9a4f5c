-- What was taken came to nothing that is its fault: it may be taken again.
-- KEYS setup   ARGV hash taker
if call('HGET', KEYS[1], 'taken:' .. A[1]) ~= A[2] then return 0 end
return call('HDEL', KEYS[1], 'taken:' .. A[1])
