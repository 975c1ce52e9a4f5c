-- The App sees these repositories, and what it sees now for the first time it sees from now on. Since when each of them.
-- One that was judged here before anybody noted that counts from when the App was installed, unless it was gone meanwhile.
-- One that is called otherwise than when it was seen last, and is on record as what it was called, is so as what it is called now.
-- KEYS arrival named arrival named ...   ARGV at installed member member ...
local since = {}
for place = 1, #KEYS / 2 do
  local arrival, named, member = KEYS[2 * place - 1], KEYS[2 * place], A[place + 2]
  local found = call('HMGET', arrival, 'since', 'named')
  local known, last = found[1], found[2]
  if not known then
    local was_here = call('HEXISTS', arrival, 'gone') == 0 and call('SISMEMBER', named, member) == 1
    known = was_here and A[2] or A[1]
    call('HSET', arrival, 'since', known)
  end
  if last ~= named then
    if last and call('SISMEMBER', last, member) == 1 then call('SADD', named, member) end
    call('HSET', arrival, 'named', named)
  end
  since[place] = known
end
return since
