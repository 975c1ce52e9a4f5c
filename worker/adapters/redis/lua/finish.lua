-- The judge ends. 'closed': nothing left to do; 'again', 'later': it will be judged again; 'lost': it was not its own.
-- KEYS pull retries [heads commits texts [into]]   ARGV token how wait_ms keep_s later head gap_ms
-- released release_gap_ms limit_ms number heads_s places place
-- how: judged (`later`, if other checks stood in its way: what is asked for when they move); retry (after wait_ms, counts as a
-- try); put_off (likewise, counts as none; by a rate limit that ends after limit_ms); away (GitHub was: likewise, and not within gap_ms of another one of its
-- installation); wait (for other checks, counts as none); again (the head moved); outage (judged in vain: after wait_ms the
-- request `later`, unless something newer is waiting)
-- released, release_gap_ms: how many others of its installation follow, and how far apart, where GitHub was away for it and is not now
-- head: the newest one, as GitHub told who gave a verdict on it; '': there is no verdict. Perhaps no delivery named it: whatever
-- is heard of that commit later is about this pull request, too, and what its check says there counts beside the others' (`places`
-- and `place` as in sibling_says)
if get('done') == A[1] then return get('answer') end
if not held_by(A[1]) then return 'lost' end

-- The first time from `at` on that has this gap to all others at which something of the installation is tried again.
local function apart(at, gap)
  call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  call('ZREM', KEYS[2], pull)
  for _ = 1, 2000 do
    local near = call('ZRANGE', KEYS[2], '(' .. (at - gap), '(' .. (at + gap), 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if not near[1] then break end
    at = near[2] + gap
  end
  call('ZADD', KEYS[2], at, pull)
  call('EXPIRE', KEYS[2], A[4])
  return at
end

local how, unread, answer, was_away = A[2], get('seq') ~= get('read'), 'later', get('aways')
if A[6] ~= '' then
  call('SADD', KEYS[3], A[11])
  call('EXPIRE', KEYS[3], A[12])
end
if KEYS[6] then -- judged for this base: a push there may change the rules, and another one may be shown without a word
  call('HSETNX', pull, 'base', string.match(KEYS[6], '[^:]+$'))
  call('ZADD', KEYS[6], now, A[11])
  call('ZREMRANGEBYSCORE', KEYS[6], '-inf', now - A[12] * 1000)
  call('EXPIRE', KEYS[6], A[12])
end
back()
lose_own()
if how == 'retry' or how == 'put_off' or how == 'away' then
  local at = now + A[3]
  if how ~= 'retry' then call('HINCRBY', pull, 'tries', -1) end
  if how == 'away' then
    at = apart(math.floor(at), tonumber(A[7])) -- whole: a range is asked for as text, which holds no more digits
    call('HINCRBY', pull, 'aways', 1)
  else
    call('HDEL', pull, 'aways') -- GitHub answered, be it that it lets us ask no more for a while
  end
  call('HSET', pull, 'after', at)
  if how == 'put_off' then call('HSET', pull, 'limit', now + A[10]) end
  in_vain()
elseif how == 'wait' then
  call('HDEL', pull, 'tries', 'spared', 'aways')
  if not unread then -- else the new event has set `due`, and it may be about another head
    call('HSETNX', pull, 'waiting', now)
    local look = num('look') -- they moved while it was looked at
    call('HSET', pull, 'due', look > 0 and math.min(now + A[3], max(now, look)) or now + A[3])
  end
elseif how == 'outage' and not unread then
  call('HDEL', pull, 'tries', 'spared', 'aways', 'waiting')
  call('HSET', pull, 'due', now + A[3], 'req', A[5])
else
  call('HDEL', pull, 'tries', 'spared', 'aways', 'waiting')
  answer = (unread or how == 'again') and 'again' or 'closed'
  if how == 'judged' and not unread and A[6] ~= '' then
    call('HDEL', pull, 'rests')
    if KEYS[6] and get('turned') then -- what was told last may not be what was done last: GitHub showed that
      local shown = string.match(KEYS[6], '[^:]+$')
      if get('base') ~= shown then call('HDEL', pull, 'bases') end
      call('HSET', pull, 'base', shown)
      call('HDEL', pull, 'turned')
    end
    if get('head') ~= A[6] then -- a delivery about an older head came last
      local known = get('head')
      if known then call('HSET', pull, 'earlier', with_left(without(get('earlier') or '', A[6]), known)) end
      call('HDEL', pull, 'came', 'looks')
      call('HSET', pull, 'head', A[6])
      local last = get('said')
      call('HSET', pull, 'said', A[6])
      for _, sha in ipairs({A[6], last ~= A[6] and last or nil}) do
        look_together(KEYS[4], KEYS[5], A[13] .. sha, A[14] .. sha .. '"}', now)
      end
    end
  end
  if how == 'judged' and answer == 'closed' and A[5] ~= '' then
    if num('look') > 0 then
      answer = 'again'
      call('HINCRBY', pull, 'looks', 1)
      call('HSET', pull, 'req', A[5], 'due', max(now, num('look')))
    else
      call('HSET', pull, 'wake', A[5])
    end
  end
end
call('HDEL', pull, 'news', 'look')
call('HSET', pull, 'done', A[1], 'answer', answer)
if was_away and (how == 'wait' or how == 'again' or how == 'outage' or (how == 'judged' and A[6] ~= '')) then
  release(KEYS[2], tonumber(A[8]), tonumber(A[9]))
end
if answer == 'closed' then close(A[4]) else owe() end
return answer
