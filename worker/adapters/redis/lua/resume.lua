-- Go on judging. 1: it was stopped. What nobody judged meanwhile is looked at now.
-- KEYS paused shelves
for _, place in ipairs(call('ZRANGE', KEYS[2], 0, -1)) do call('ZADD', KEYS[2], 'LT', now, place) end
return call('DEL', KEYS[1])
