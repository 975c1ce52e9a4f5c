-- A pull request was closed. Whoever judges it finds that out; if nobody does and it has unfinished checks, somebody has to.
-- KEYS pull checks   ARGV keep_s
if not get('req') then return 0 end
local state, unfinished = get('state'), call('HLEN', KEYS[2]) > 0
call('HSET', pull, 'over', 1)
call('HDEL', pull, 'wake', 'rests')
if not state and not unfinished then
  call('EXPIRE', pull, A[1])
  return 0
end
call('PERSIST', pull)
call('HSET', pull, 'seq', call('INCR', 'assay:count'), 'due', now)
call('HDEL', pull, 'after')
if state ~= 'given' and state ~= 'held' then owe() end
return 1
