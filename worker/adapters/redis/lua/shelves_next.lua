-- Repositories to look at: is their pause over? They come again after a while, as long as anything waits there.
-- KEYS shelves   ARGV look_ms
local places = call('ZRANGE', KEYS[1], 0, now, 'BYSCORE', 'LIMIT', 0, 20)
for _, place in ipairs(places) do call('ZADD', KEYS[1], now + A[1], place) end
return places
