-- The App sees these repositories, and what it sees now for the first time it sees from now on. Since when each of them.
-- One that was judged here before anybody noted that counts from when the App was installed, unless it was gone meanwhile.
-- KEYS arrival named arrival named ...   ARGV at installed member member ...
local since = {}
for place = 1, #KEYS / 2 do
  local arrival = KEYS[2 * place - 1]
  local known = call('HGET', arrival, 'since')
  if not known then
    local was_here = call('HEXISTS', arrival, 'gone') == 0 and call('SISMEMBER', KEYS[2 * place], A[place + 2]) == 1
    known = was_here and A[2] or A[1]
    call('HSET', arrival, 'since', known)
  end
  since[place] = known
end
return since
