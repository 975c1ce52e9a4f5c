-- The words that every script about a pull request is made of; put before each of them. `judging.lua` has more.
-- `pull` is KEYS[1], the pull request's hash, unless the script says otherwise. Fields:
--   state     none (closed), due, given (to the queue), held (by a judge)
--   seq read  number of the last event; of the last one that the judge knew when it began
--   req head  the newest request; the newest head that an event named, or that got a verdict since
--   earlier   commits that its branch has left, as far as we heard: the last 16 that we heard of, a space behind each
--   inst      its installation
--   base      which one it goes into, as far as we heard
--   bases     what is yet to be told of how it came there: marks of bases, each with how often it went there more than it left
--   turned    it was told to go into another base, and nobody judged it since
--   flags     words that stay until it is closed (force)
--   quiet     the quiet window that `due` was set by
--   due since after   judge not before; first event of this quiet window; not before, whatever happens
--   limit     when the rate limit ends that it was put off by: `after` is its turn among all that were
--   fence token tries number of this judging, who holds it, how often it was begun
--   served    the server's run in which it was begun last, or found at GitHub as we know it
--   run spared        the server's run in which it was begun last; how many tries did not count, since that run had ended
--   aways     how often in a row GitHub was away when it was judged; 0: it was, and somebody pushed or asked since
--   waiting   since when this head waits for other checks
--   outside   a stranger's fork opened it, and no account with write access has asked for it since
--   came      when we first heard of this head, as text
--   rests     a draft, as we were told, of which nobody asked anything yet and that got no verdict since
--   over ends when it was closed, and not reopened; when what is remembered of it goes
--   wake      the request to judge it by when other checks move, after a verdict that they stood in the way of
--   news look looks   when the first and until when the last of a burst of news was heard; how often news woke this head
--   eval      the evaluation that was begun last
--   again     why a verdict on its head counts no more, until somebody judges; ' begun' behind it: its check is being opened again
--   knew      the same, as who judges now began
--   by        what its verdict was made by, or is: the mark of a base, and of each issue behind it
--   said      the newest head that its check said anything about
--   done answer       token of the last FINISH and what it was told
-- Times are milliseconds of the server's clock. Every script may be sent twice.
local call, A, max = redis.call, ARGV, math.max
local time = call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local pull = KEYS[1]
local inst -- its installation, once a script knows it without asking
local is_outside -- whether a stranger's fork opened it; likewise

local function get(field) return call('HGET', pull, field) end
local function num(field) return tonumber(get(field) or 0) end
local function mine() return inst or get('inst') end
local function mine_key(what) return 'assay:' .. mine() .. ':' .. what end
local function first(zset) return call('ZRANGE', zset, 0, 0, 'WITHSCORES') end

-- An installation's turn comes at the earlier of what it has and `at`.
local function turn(line, at) call('ZADD', 'assay:turn:' .. line, 'LT', at, mine()) end

-- What strangers' forks opened waits in lines of its own: who looks for the others goes past none of it.
local function line_of(what)
  local outside = is_outside
  if outside == nil then outside = get('outside') end
  return outside and what .. '_outside' or what
end

-- It waits to be judged ('due'), or for its check run ('opening'), until `at`.
local function waits(what, at)
  local line = line_of(what)
  call('ZADD', mine_key(line), at, pull)
  turn(line, at)
end

-- What is in `earlier`, without a commit; with one that the branch has left, too.
local function without(earlier, sha)
  local at = string.find(earlier, sha, 1, true)
  return at and string.sub(earlier, 1, at - 1) .. string.sub(earlier, at + 41) or earlier
end
local function with_left(earlier, sha) return string.sub(without(earlier, sha) .. sha .. ' ', -16 * 41) end

-- When what is remembered goes; false while it is open. (A version that knew no `ends` reopened by `over` alone.)
local function ends_at() return get('over') and get('ends') end

-- What is kept beside a ledger goes when that does, and stays while that stays.
local function end_with(ledger, key)
  local left, ends = call('PTTL', ledger), ends_at()
  if left > 0 then
    call('PEXPIRE', key, left)
  elseif left == -1 then
    call('PERSIST', key)
  elseif ends then -- closed before there was a ledger
    call('PEXPIREAT', key, ends)
  end
end
