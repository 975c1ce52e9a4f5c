-- The next command to answer, and how often it was looked at; it comes again after the hold, unless done.
-- KEYS asks texts tries   ARGV hold_ms
local id = call('ZRANGE', KEYS[1], 0, now, 'BYSCORE', 'LIMIT', 0, 1)[1]
if not id then return {} end
call('ZADD', KEYS[1], now + A[1], id)
return {call('HGET', KEYS[2], id), call('HINCRBY', KEYS[3], id, 1)}
