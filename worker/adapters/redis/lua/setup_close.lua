-- An App was made: no token and no state opens anything any more.
-- KEYS setup
return call('DEL', KEYS[1])
