-- Give back what was reserved in the book of a run and not spent, once.
-- KEYS book   ARGV name bill('' unknown)
-- Amounts are whole nanodollars.
local open = 'open:' .. A[1]
local held = call('HGET', KEYS[1], open)
if not held then return 0 end
call('HDEL', KEYS[1], open)
if A[2] ~= '' then call('HINCRBY', KEYS[1], 'used', string.format('%.0f', A[2] - held)) end
return 1
