-- Somebody wants this pull request judged. All that the door does.
-- KEYS pull delivery window [heads named [ledger [decisions]]]
-- ARGV request, and in one line, a space between each: installation repository number head mode quiet_ms quiet_max_ms delivery_s
-- heads_s arrived show stale base left before outside_gap_ms outside_ahead_ms flags (head, arrived, stale, base, left, before and flags may be empty; flags are several words)
-- stale: why a verdict on the head counts no more, if it does not: its check is opened again before anybody judges
-- base: which one it goes into, where that was said. Only a delivery about another base, or a look around, changes what is known
-- of it: what another delivery says may be old, or the first word of what we were never told
-- left: which base it went into before, as a delivery about another one says; '': GitHub was asked, where a head is named
-- before: the head is a delivery's word, which may be old: the commit that a push says it led from, 0000.. of one that was opened with
-- this head, - where it says nothing of that; '': GitHub was asked
-- mode: window (after the quiet window that the base's configuration sets, else quiet_ms), soon (after quiet_ms, unless it waits
-- already), now, moved (into another base: if it waits, for that one's window from now on, else now),
-- hold (a draft: nothing, before something else asks), asked (now, if it waits for anything)
-- outside_gap_ms: how far apart heads that strangers push have their turns; outside_ahead_ms: how much sooner than its turn one may come
-- decisions: another base, where what people let pass counts no more. ledger without them: only its text was edited, which is
-- nothing where nobody ever asked for it; and while its open check waits for a verdict it changes no more than when that is
-- Answers what became of it, and its number among all events: as a status, which is one line to read. Every delivery comes
-- through here: what the hash holds is read once and written once.
local installation, repository, number, head, mode, quiet_ms, quiet_max_ms, delivery_s, heads_s, arrived, show, stale, base, left, before, gap_ms, ahead_ms, asked =
  string.match(A[2], '^(%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (.*)$')
inst = installation
if not call('SET', KEYS[2], 1, 'NX', 'EX', delivery_s) then return {ok = 'duplicate 0'} end
local was = call('HMGET', pull, 'state', 'req', 'rests', 'flags', 'head', 'came', 'due', 'since', 'after', 'over', 'ends', 'wake', 'aways', 'again', 'base', 'limit', 'earlier', 'bases', 'outside')
local state = was[1]

-- GitHub tells in any order, and again, so that what names a head may be behind: it was opened with it, and we know another one; or
-- the branch has left that commit, or the one that a push led from. But one that leads from the head that we know comes after it,
-- wherever it was forced to. What is behind moves no head; a push to a commit that was left, and a draft then, are nothing at all.
local known, earlier = was[5] or head, was[17] or ''
local function was_left(sha) return string.find(earlier, sha, 1, true) end
local names_another, is_push = head ~= '' and head ~= known, string.match(before, '[1-9a-f]')
local is_behind = names_another and before ~= '' and before ~= known
  and (was_left(head) or (is_push and was_left(before)) or string.match(before, '^0+$'))
local is_nothing = is_behind and ((is_push and was_left(head)) or mode == 'hold')
if names_another then earlier = with_left(without(earlier, head), is_behind and head or known) end
local is_here = not is_behind
if is_behind then head = known end
if is_push and before ~= head and before ~= known then earlier = with_left(earlier, before) end
if is_nothing then
  call('HSET', pull, 'earlier', earlier)
  call('SADD', KEYS[4], number)
  call('EXPIRE', KEYS[4], heads_s)
  return {ok = 'late 0'}
end

-- Edits of the base come in any order, too. On its way a pull request goes into each base as often as it leaves it, but for the one
-- that it is in now, once more; what is yet to be told of shows as a base that it left and never went into. Where that leaves several,
-- the one that was told last counts, until who judges has asked GitHub.
local into, is_old_base = was[15], false
local function follow()
  local ways = {[was[15]] = 1}
  for mark, times in string.gmatch(was[18] or '', '(%S+) (%S+)') do ways[mark] = (ways[mark] or 0) + times end
  ways[base] = (ways[base] or 0) + 1
  ways[left] = (ways[left] or 0) - 1
  into = base
  local ends, last = 0, nil
  for mark, times in pairs(ways) do
    if times > 0 then ends, last = ends + 1, mark end
  end
  if ends == 1 then into = last end
  ways[into] = (ways[into] or 0) - 1
  local untold = {}
  for mark, times in pairs(ways) do
    if times ~= 0 then untold[#untold + 1] = mark .. ' ' .. times end
  end
  return #untold <= 8 and table.concat(untold, ' ') or ''
end
local untold = was[18] or ''
if KEYS[7] and base ~= '' then
  if left ~= '' and was[15] then
    untold = follow()
    is_old_base = into == was[15] and base ~= into
  elseif left ~= '' or head ~= '' then
    into, untold = base, ''
  end
end
into = into or (base ~= '' and base)

if mode == 'asked' and was[2] and state ~= 'due' and not was[3] then return {ok = 'unknown 0'} end
local is_text, is_new = KEYS[6] and not KEYS[7], head ~= '' and head ~= was[5]
if is_text and not was[2] and call('EXISTS', KEYS[6]) == 0 then return {ok = 'unknown 0'} end
local function says_its_end() -- of the check of this head: it may be what another text was judged by
  local function key(what) return (string.gsub(pull, ':pull:', what, 1)) end
  return call('EXISTS', key(':check:') .. ':' .. head) == 1 and call('HEXISTS', key(':checks:'), head) == 0
end
local only_waits = is_text and state == 'due' and was[2] and not was[14] and not is_new and not says_its_end()
local seq = call('INCR', 'assay:count')
local req = A[1]
if is_old_base then req = string.gsub(req, '"base":"' .. base .. '"', '"base":"' .. into .. '"', 1) end
local fields, gone = {'seq', seq, 'req', only_waits and was[2] or req, 'inst', inst}, {}
local function set(field, value) fields[#fields + 1], fields[#fields + 2] = field, value end
local function drop(...) for _, field in ipairs({...}) do gone[#gone + 1] = field end end
local function written(answer)
  if gone[1] then call('HDEL', pull, unpack(gone)) end
  call('HSET', pull, unpack(fields))
  return {ok = answer .. ' ' .. seq}
end

-- What we ask ourselves for later is no word of GitHub's that a closed one was reopened: who looks sees whether it was.
local function is_own() return string.match(A[1], '"trigger":"resumed"') or string.match(A[1], '"trigger":"late"') end
if (was[10] or was[11]) and not is_own() then drop('over', 'ends') end

local flags = was[4] or ''
for flag in string.gmatch(asked, '%S+') do
  if not string.find(' ' .. flags, ' ' .. flag .. ' ', 1, true) then flags = flags .. flag .. ' ' end
end
if flags ~= '' then set('flags', flags) end
is_outside = was[19] ~= false
if string.find(flags, 'force', 1, true) then -- somebody with write access asks for it
  is_outside = false
  drop('outside')
elseif string.find(A[1], '"outside":true', 1, true) then
  is_outside = true
  set('outside', 1)
end
if is_outside ~= (was[19] ~= false) then -- and it waits from now on among its like
  for _, what in ipairs({'due', 'opening'}) do
    local line = mine_key(is_outside and what or what .. '_outside')
    local at = call('ZSCORE', line, pull)
    if at then
      call('ZREM', line, pull)
      waits(what, what == 'opening' and now or at)
    end
  end
end
if earlier ~= (was[17] or '') then set('earlier', earlier) end

if KEYS[7] and not is_old_base then -- into another base: what let it pass before counts no more
  if left ~= '' then set('turned', 1) end
  call('HSET', KEYS[7], 'rebased', string.format('%d', now))
  end_with(KEYS[6], KEYS[7])
end

if is_new then
  set('head', head)
  drop('waiting', 'came', 'looks')
end
if asked ~= '' then drop('looks') end -- who asks is no App that answers to our check
if arrived ~= '' and is_here and (is_new or not was[6]) then set('came', arrived) end
local after = tonumber(was[9] or 0)
local function comes_sooner(from)
  after = from
  if state == 'due' then -- whatever comes of it below: nobody else brings it forward any more
    local at = max(now, tonumber(was[7] or 0), after)
    waits('due', at)
  end
end
if was[13] and (is_new or asked ~= '') then -- it waits until GitHub is back: who pushes or asks may have seen that it is
  drop('after')
  set('aways', 0)
  call('ZREM', mine_key('retries'), pull)
  comes_sooner(0)
elseif was[16] and asked ~= '' and after > tonumber(was[16]) then -- who asks waits for the limit, and for nobody's turn
  set('after', was[16])
  comes_sooner(tonumber(was[16]))
elseif was[19] and not is_outside and after > now and not was[16] then -- it waits for no stranger's turn any more
  drop('after')
  comes_sooner(0)
end
if is_outside and is_new and after <= now then -- else it has a turn, and may push as often as it likes until then
  local turns = mine_key('outside_turn')
  local at = max(now, tonumber(call('GET', turns) or 0))
  call('SET', turns, string.format('%.0f', at + gap_ms), 'EX', heads_s)
  after = at - ahead_ms
  if after > now then set('after', string.format('%.0f', after)) end
end
if into and into ~= was[15] then set('base', into) end
if untold ~= (was[18] or '') then
  if untold == '' then drop('bases') else set('bases', untold) end
end
local is_known = not is_new or (is_text and not was[2]) -- the verdict is what nobody forgot of it
local is_stale = stale ~= '' and is_known and not only_waits and (was[5] or head ~= '')
if is_stale then set('again', stale) end
if is_new or is_stale or only_waits or (show == '1' and head ~= '') then
  waits('opening', is_outside and max(now, after) or now)
end
if head ~= '' then
  call('SADD', KEYS[4], number)
  call('EXPIRE', KEYS[4], heads_s)
  call('SADD', KEYS[5], inst .. ':' .. repository)
end

if mode == 'hold' and flags == '' then
  -- what is due stays due, and what other checks may wake: this may be told late, and who judges asks GitHub whether it is a draft
  set('rests', 1)
  if is_new then drop('wake') end
  local is_doubtful = is_new and not state and was[2] and not was[3]
  if is_doubtful then -- a new head of what was no draft a moment ago: an old one that is told late is nobody's to wait for
    set('state', 'due')
    set('due', now)
    set('since', now)
    local at = max(now, after)
    waits('due', at)
  end
  local answer = written(state and 'coalesced' or 'queued')
  if state or is_doubtful then call('PERSIST', pull) else call('EXPIRE', pull, heads_s) end
  return answer
end

call('PERSIST', pull)
if was[3] or was[12] then drop('rests', 'wake') end
local due, quiet = tonumber(was[7] or 0), tonumber(quiet_ms)
if due > 0 and (due <= now or (mode == 'soon' and state == 'due')) then return written('coalesced') end
if is_old_base and state == 'due' then return written('coalesced') end -- it waits as the one says that it goes into
if mode == 'moved' and state ~= 'due' then
  quiet = 0
elseif mode == 'window' or mode == 'moved' then
  quiet = tonumber(call('GET', KEYS[3]) or quiet)
  set('quiet', quiet)
end
local since = tonumber(was[8] or now)
due = math.min(now + quiet, since + max(quiet_max_ms, quiet))
set('due', due)
set('since', since)
if state ~= 'given' and state ~= 'held' then
  local at = max(now, due, after)
  set('state', 'due')
  waits('due', at)
end
return written(state and 'coalesced' or 'queued')
