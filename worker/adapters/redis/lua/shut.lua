-- A pull request was closed. Whoever judges it finds that out; if nobody does and it has unfinished checks, somebody has to.
-- What is remembered of it goes after a while, and what is written from now on with it.
-- Whoever has the same commit is shown without it from now on.
-- KEYS pull checks commits texts [remembered]...   ARGV keep_s remembered_ms places place
local ends = string.format('%.0f', now + A[2])
for number = 5, #KEYS do call('PEXPIREAT', KEYS[number], ends) end
if not get('req') then return 0 end
local state, unfinished = get('state'), call('HLEN', KEYS[2]) > 0
call('HSET', pull, 'over', string.format('%.0f', now), 'ends', ends)
call('HDEL', pull, 'wake', 'rests')
local last = get('said')
if last then look_together(KEYS[3], KEYS[4], A[3] .. last, A[4] .. last .. '"}', now) end
if not state and not unfinished then
  call('EXPIRE', pull, A[1])
  return 0
end
call('PERSIST', pull)
call('HSET', pull, 'seq', call('INCR', 'assay:count'), 'due', now)
call('HDEL', pull, 'after')
if state ~= 'given' and state ~= 'held' then owe() end
return 1
