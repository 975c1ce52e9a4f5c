-- What the check of this pull request says of a commit, by itself; and what those of the others say that have it for their head.
-- It is noted before GitHub is told: who dies in between is told of again, and so are the others, after a while.
-- KEYS pull shown commits texts   ARGV number head state own keep_s backstop_ms pulls places place
-- pulls, places: how the names of this repository's `pull` and `shown` keys begin; place: what tells of a commit, without its head
-- Answers {version, is it here, number, state, ...}
local shown, number, head = KEYS[2], A[1], A[2]
local function place(sha) return A[9] .. sha .. '"}' end
call('HSET', shown, number, A[3], number .. ':own', A[4])
call('HDEL', shown, number .. ':as', number .. ':left')
if A[3] == 'cancelled' then call('HSET', shown, number .. ':left', 1) end
call('HINCRBY', shown, 'v', 1)
call('EXPIRE', shown, A[5])
local last = get('said')
if get('head') == head and last ~= head then -- its first word here: whoever shares the commit before stays without it
  call('HSET', pull, 'said', head)
  if last then look_together(KEYS[3], KEYS[4], A[8] .. last, place(last), now) end
end
look_together(KEYS[3], KEYS[4], shown, place(head), now + A[6])
local found = {tonumber(call('HGET', shown, 'v')), is_at(pull, head) and A[3] ~= 'cancelled' and 1 or 0}
for _, other in ipairs(siblings(shown)) do
  local said = call('HMGET', shown, other, other .. ':left')
  if other ~= number and not said[2] and is_at(A[7] .. other, head) then
    found[#found + 1] = other
    found[#found + 1] = said[1]
  end
end
return found
