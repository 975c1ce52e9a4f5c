-- Other checks ended on a commit. Whoever waits for them there looks again soon, once for a burst of news.
-- KEYS heads   ARGV head prefix gather_ms gathered_ms most_looks green
-- Answers how many pull requests look again. A verdict that other checks stood in the way of left its next request in `wake`.
-- Looks after a verdict come after ever longer waits, which no news cut short, also what comes while one of them is under way:
-- whoever answers to our own check would else be answered for ever.
local most = tonumber(A[5])
local function patience(looks) return A[3] * 2 ^ math.min(max(0, looks - 3), 8) end
local function later(first) return math.min(now + A[3], first + A[4]) end

-- It is not given and not held: look at that time, but where it is looked at sooner anyway.
local function look_at(at)
  local due = num('due')
  if not get('waiting') then at = max(at, due) end
  if due <= now or (due <= at and not get('news')) then return end
  call('HSETNX', pull, 'news', now)
  call('HSET', pull, 'due', at)
  waits('due', at)
end

-- CI is green before the quiet window is over: nothing is gained by waiting for its end. What waits for GitHub goes on waiting.
local function end_window()
  local at = max(now + A[3], num('after'))
  if num('due') <= at then return end
  call('HSET', pull, 'due', at)
  waits('due', at)
end

local moved = 0
for _, number in ipairs(call('SRANDMEMBER', KEYS[1], 100)) do
  pull = A[2] .. number
  local state, wake, first = get('state'), get('wake'), tonumber(get('news') or now)
  local is_here = get('head') == A[1] and not get('over')
  if is_here and (state == 'given' or state == 'held') then
    local looks = num('looks')
    call('HSETNX', pull, 'news', now)
    if looks < most then call('HSET', pull, 'look', max(later(first), now + patience(looks + 1))) end
    moved = moved + 1
  elseif is_here and state == 'due' and (get('waiting') or get('news')) then
    look_at(later(first))
    moved = moved + 1
  elseif is_here and state == 'due' and get('since') and A[6] == '1' then
    end_window()
    moved = moved + 1
  elseif is_here and not state and wake and num('looks') < most then
    local wait = patience(call('HINCRBY', pull, 'looks', 1))
    call('PERSIST', pull)
    call('HDEL', pull, 'wake')
    call('HSET', pull, 'seq', call('INCR', 'assay:count'), 'req', wake, 'news', now, 'due', now + wait)
    owe()
    moved = moved + 1
  end
end
return moved
