-- A submission is about to be judged for a base, and by issues: what changes either is about it from now on, before there is a
-- verdict (0: there is none yet by this issue). What changed since it was handed out, while it was not known by that, woke nobody,
-- and what was read of it may be older: then nothing is noted, and it is read again.
-- KEYS pull into changed [solving changed ...]   ARGV number into_s member solving_s author
-- `by` of the pull request says what these are from now on, for as long as GitHub shows it open.
-- Answers 1, or 0: it is to be read again.
local function is_missed(index, member, changed)
  return not call('ZSCORE', index, member) and tonumber(call('GET', changed) or 0) > num('fence')
end
for at = 2, #KEYS, 2 do
  if is_missed(KEYS[at], at == 2 and A[1] or A[3], KEYS[at + 1]) then return 0 end
end
local function last_of(key) return string.match(key, '[^:]+$') end
local by = {last_of(KEYS[2])}
call('ZADD', KEYS[2], now, A[1])
call('EXPIRE', KEYS[2], A[2])
for at = 4, #KEYS, 2 do
  call('ZADD', KEYS[at], 'NX', 0, A[3])
  call('EXPIRE', KEYS[at], A[4])
  by[#by + 1] = last_of(KEYS[at])
end
if get('seq') then call('HSET', pull, 'by', table.concat(by, ' '), 'author', A[5]) end -- else it was forgotten meanwhile
return 1
