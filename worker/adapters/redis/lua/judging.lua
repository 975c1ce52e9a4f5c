-- More words, put before each script but those that nearly every delivery runs (`worker.adapters.redis.scripts`): what comes of a judging.

-- It is to be judged again, when its times allow.
local function owe()
  local at = max(now, num('due'), num('after'))
  call('HSET', pull, 'state', 'due')
  waits('due', at)
  if get('again') then -- told of while it was judged: what was shown since may have been made before
    waits('opening', now)
  end
end

-- GitHub answered one that had waited for it: the next `most` of its installation that wait until it is back are tried now, `gap`
-- apart. What fails again waits as long as ever: so no more is tried too early than went well.
local function release(retries, most, gap)
  call('ZREMRANGEBYSCORE', retries, '-inf', now)
  local own, at, left = pull, math.floor(now), most
  local waiting = call('ZRANGE', retries, 0, 1999, 'WITHSCORES')
  for each = 1, #waiting, 2 do
    if left == 0 then break end
    pull = waiting[each]
    if get('state') ~= 'due' or not get('aways') then
      call('ZREM', retries, pull)
    else
      at = at + gap
      if tonumber(waiting[each + 1]) > at then -- else it follows already, or its time comes anyway
        left = left - 1
        call('ZADD', retries, at, pull)
        call('HSET', pull, 'after', at)
        owe()
      end
    end
  end
  pull = own
end

-- Who judged may have shown nothing: what counted no more when he began still does not.
local function in_vain()
  local why = get('knew')
  if why then call('HSETNX', pull, 'again', why) end
end

-- It is out no more: its installation may have another one out.
local function back()
  call('ZREM', 'assay:out', pull)
  call('SREM', mine_key('out'), pull)
  call('SREM', 'assay:out_outside', pull)
  local waiting = first(mine_key('due'))
  if waiting[1] then turn('due', max(now, tonumber(waiting[2]))) end
end

local function lease_runs() return tonumber(call('ZSCORE', 'assay:out', pull) or 0) > now end
local function held_by(token) return get('state') == 'held' and get('token') == token and lease_runs() end

-- What this server calls itself until it is started anew; nil where a script may not ask.
local function server_run()
  local told = redis.pcall('INFO', 'server')
  return type(told) == 'string' and string.match(told, 'run_id:(%w+)') or nil
end

local function hold(token, lease_ms)
  call('HINCRBY', pull, 'tries', 1)
  local why, run = get('again'), server_run()
  call('HDEL', pull, 'due', 'since', 'news', 'look', 'again', 'knew', 'run')
  if run then call('HSET', pull, 'run', run, 'served', run) end
  if why then call('HSET', pull, 'knew', string.match(why, '%S+')) end
  call('HSET', pull, 'state', 'held', 'token', token, 'read', get('seq'))
  call('ZADD', 'assay:out', now + lease_ms, pull)
end

-- Verdicts are recorded by the judge that holds the pull request; one that judges another anew stands beside that.
local function may_record(ledger, fence, parent)
  if parent ~= '' then return call('HEXISTS', ledger, parent) == 1 end
  return get('state') == 'held' and get('fence') == fence and lease_runs()
end

-- An installation's stream, trimmed by age (0: never).
local function tell(stream, keep_ms, kind, event)
  if tonumber(keep_ms) > 0 then
    return call('XADD', stream, 'MINID', '~', string.format('%d', max(0, now - keep_ms)), '*', 'k', kind, 'j', event)
  end
  return call('XADD', stream, '*', 'k', kind, 'j', event)
end

-- Evaluations that were begun and not ended. `assay:evals` holds a note of each, `assay:evals:by` when to look whether its
-- judge still lives. A note: the pull request's key, the fence, the stream and how long it keeps, and what to tell if the
-- evaluation is lost, a line each. Whoever ends one gets 1, and everybody after that 0.
local function end_eval(eval_id)
  call('ZREM', 'assay:evals:by', eval_id)
  return call('HDEL', 'assay:evals', eval_id)
end

-- One of them comes to nothing: told as its note says.
local function lose(eval_id, note)
  if end_eval(eval_id) == 0 then return 0 end
  local stream, keep_ms, event = string.match(note, '^[^\n]*\n[^\n]*\n([^\n]*)\n(%d+)\n(.*)$')
  if not stream then return 0 end
  tell(stream, keep_ms, 'eval.failed', event)
  return 1
end

-- Lose those whose judges are dead; how many there were.
local function lose_dead(hold_ms)
  local lost, mine = 0, pull
  for _, eval_id in ipairs(call('ZRANGE', 'assay:evals:by', 0, now, 'BYSCORE', 'LIMIT', 0, 20)) do
    local note = call('HGET', 'assay:evals', eval_id) or ''
    local key, fence = string.match(note, '^([^\n]*)\n([^\n]*)\n')
    pull = key
    if key and get('fence') == fence and get('state') == 'held' and lease_runs() then
      call('ZADD', 'assay:evals:by', now + hold_ms, eval_id)
    else
      lost = lost + lose(eval_id, note)
    end
  end
  pull = mine
  return lost
end

-- This pull request's judging is over, and with it its evaluation, if that did not end before.
local function lose_own()
  local eval_id = get('eval')
  local note = eval_id and call('HGET', 'assay:evals', eval_id)
  if note then lose(eval_id, note) end
  call('HDEL', pull, 'eval')
end

local function close(keep_s)
  call('HDEL', pull, 'state', 'token', 'read', 'flags', 'due', 'since', 'after', 'limit', 'tries', 'run', 'spared', 'aways', 'waiting', 'news', 'look', 'again', 'knew')
  call('EXPIRE', pull, keep_s)
end

-- The pull requests whose checks said something of one commit. Its hash `shown` holds by number a word, and beside it: `:own`
-- the texts, sealed; `:as` a hash of what GitHub was told last, if nothing was said since; `:on`, who has them say together what
-- they should is writing; `:left`, it is known to be no open one of this head any more. `v` grows with everything that any of them says.
local function siblings(shown)
  local numbers = {}
  for _, field in ipairs(call('HKEYS', shown)) do
    if string.match(field, '^%d+$') then numbers[#numbers + 1] = field end
  end
  return numbers
end

-- Whether a pull request, by the name of its hash, is open as far as we know, and this is its head.
local function is_at(name, head)
  local at = call('HMGET', name, 'head', 'over')
  return not at[2] and (not at[1] or at[1] == head)
end

-- Somebody has to look whether the checks of this commit say together what they should. One alone does.
local function look_together(commits, texts, shown, place, at)
  if #siblings(shown) < 2 then return end
  call('HINCRBY', shown, 'v', 1)
  call('HSET', texts, shown, place)
  call('ZADD', commits, 'LT', at, shown)
end
