-- Whether GitHub is to be asked what the check of a head says that we take for ended: '' if not. What this server forgot since it last
-- ran it can't know; but what it saw judged itself since then, it does. Nor where somebody is to judge, or an open check is watched.
-- Else a word that changes with whatever happens to the pull request. With that word, once GitHub was asked and there is nothing to be
-- set right: 1, and it is asked no more; '' if something happened meanwhile.
-- KEYS pull arrival checks   ARGV number head [word]
local run, at = server_run(), call('HMGET', KEYS[1], 'state', 'served', 'fence', 'seq')
local known = at[2] or call('HGET', KEYS[2], A[1] .. ' served')
if not run or at[1] or known == run or call('HEXISTS', KEYS[3], A[2]) == 1 then return '' end
local word = run .. ' ' .. (at[3] or 0) .. ' ' .. (at[4] or 0)
if not A[3] then return word end
if A[3] ~= word then return '' end
if at[4] then
  call('HSET', KEYS[1], 'served', run)
elseif call('EXISTS', KEYS[2]) == 1 then
  call('HSET', KEYS[2], A[1] .. ' served', run)
end
return 1
