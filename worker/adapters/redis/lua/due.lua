-- Which lines hold something to look at now, by number from 1 on: who has many to look through asks those alone.
-- What a call was given already is told to it again, so a call that is known here has the first line due.
-- KEYS turns gave order...   ARGV call
local due = {}
if call('HGET', KEYS[2], 'call') == A[1] then due[1] = 1 end
for line, order in ipairs(KEYS) do
  if line ~= 2 and due[#due] ~= line then
    local at = first(order)[2]
    if at and tonumber(at) <= now then due[#due + 1] = line end
  end
end
return due
