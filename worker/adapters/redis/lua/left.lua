-- The installations that are to be forgotten now.
-- KEYS leaving
return call('ZRANGE', KEYS[1], 0, now, 'BYSCORE', 'LIMIT', 0, 10)
