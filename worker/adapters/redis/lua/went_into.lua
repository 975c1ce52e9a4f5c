-- Which base a pull request was told to go into. One that was asked for without a word of that goes into this one from now on, which
-- GitHub shows; of one that nobody ever asked for it matters to nobody.
-- KEYS pull   ARGV base
local known = get('base')
if not known and get('seq') then call('HSET', pull, 'base', A[1]) end
return known or A[1]
