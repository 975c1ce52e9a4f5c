-- Somebody wants this pull request judged. All that the door does.
-- KEYS pull delivery window [heads named]
-- ARGV installation head request mode quiet_ms quiet_max_ms flags delivery_s number heads_s arrived show repository
-- mode: window (after the repository's quiet window, else quiet_ms), soon (after quiet_ms, unless it waits already),
-- now, hold (a draft: not before something else asks), asked (now, if it waits for anything)
local mode = A[4]
if not call('SET', KEYS[2], 1, 'NX', 'EX', A[8]) then return {'duplicate', 0} end
local state = get('state')
if mode == 'asked' and get('req') and state ~= 'due' and not get('rests') then return {'unknown', 0} end
local seq = call('INCR', 'assay:count')
call('PERSIST', pull)
call('HSET', pull, 'seq', seq, 'req', A[3], 'inst', A[1])
call('HDEL', pull, 'over', 'wake')
local flags = get('flags') or ''
for flag in string.gmatch(A[7], '%S+') do
  if not string.find(' ' .. flags, ' ' .. flag .. ' ', 1, true) then flags = flags .. flag .. ' ' end
end
if flags ~= '' then call('HSET', pull, 'flags', flags) end
if A[2] ~= '' then
  local is_new = A[2] ~= get('head')
  if is_new then
    call('HSET', pull, 'head', A[2])
    call('HDEL', pull, 'waiting', 'came', 'looks')
  end
  if is_new or A[12] == '1' then
    call('ZADD', mine_key('opening'), now, pull)
    turn('opening', now)
  end
  call('SADD', KEYS[4], A[9])
  call('EXPIRE', KEYS[4], A[10])
  call('SADD', KEYS[5], A[1] .. ':' .. A[13])
end
if A[11] ~= '' then call('HSETNX', pull, 'came', A[11]) end
if mode == 'hold' and flags == '' then
  call('HSET', pull, 'rests', 1)
  if state == 'due' then
    call('ZREM', mine_key('due'), pull)
    call('HDEL', pull, 'state', 'due', 'since', 'after', 'tries', 'waiting', 'news')
  end
  if state == 'due' or not state then call('EXPIRE', pull, A[10]) end
  return {state and 'coalesced' or 'queued', seq}
end
call('HDEL', pull, 'rests')
local due, quiet = num('due'), tonumber(A[5])
if due > 0 and (due <= now or (mode == 'soon' and state == 'due')) then return {'coalesced', seq} end
if mode == 'window' then quiet = tonumber(call('GET', KEYS[3]) or quiet) end
local since = tonumber(get('since') or now)
call('HSET', pull, 'due', math.min(now + quiet, since + max(A[6], quiet)), 'since', since)
if state ~= 'given' and state ~= 'held' then owe() end
return {state and 'coalesced' or 'queued', seq}
