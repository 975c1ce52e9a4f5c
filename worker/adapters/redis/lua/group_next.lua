-- The next merge group to look at, and how often that was done since somebody put it off; it comes again after the hold, unless done.
-- A look that was cut short because the server itself ended counts as none: that says nothing against the group. Not for ever: a
-- server may go down for what is judged.
-- KEYS groups texts tries   ARGV hold_ms most_spared
local id = call('ZRANGE', KEYS[1], 0, now, 'BYSCORE', 'LIMIT', 0, 1)[1]
if not id then return {} end
call('ZADD', KEYS[1], now + A[1], id)
local by, spared, server = id .. ' run', id .. ' spared', server_run()
local was = call('HMGET', KEYS[3], id, by, spared)
local is_cut_short = was[1] and was[2] and server and was[2] ~= server
if server then call('HSET', KEYS[3], by, server) end
if is_cut_short and tonumber(was[3] or 0) < tonumber(A[2]) then
  call('HINCRBY', KEYS[3], spared, 1)
  return {call('HGET', KEYS[2], id), tonumber(was[1])}
end
return {call('HGET', KEYS[2], id), call('HINCRBY', KEYS[3], id, 1)}
