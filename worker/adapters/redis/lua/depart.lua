-- The App does not see these repositories any more: what is new there when it is back is told from that day on.
-- KEYS arrival ...
for place = 1, #KEYS do
  call('DEL', KEYS[place])
  call('HSET', KEYS[place], 'gone', 1)
end
return #KEYS
