-- Set money aside before a model is asked. {'granted', 0}, or the cap in the way and how much of it is used; {'gone', 0}
-- where nothing is on record of the pull request any more: it was forgotten while it was judged, and no book is opened anew.
-- A repository that asked counts as active, today and tomorrow, whatever it was told.
-- KEYS today yesterday of_pull reservation pull ledger   ARGV amount pull_cap day_cap share_cap repository day_s reservation_s
-- Amounts are whole nanodollars.
local today, yesterday, of_pull, reservation = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
pull = KEYS[5]
local amount, mine = tonumber(A[1]), 'repo:' .. A[5]
if call('EXISTS', reservation) == 1 then return {'granted', 0} end
if call('EXISTS', pull, KEYS[6]) == 0 then return {'gone', 0} end
if call('HSETNX', today, mine, 0) == 1 then
  call('HINCRBY', today, 'active', 1)
  call('EXPIRE', today, A[6])
end
local function used(key, field) return tonumber(call('HGET', key, field) or 0) end
local others = used(today, 'active') - 1 + used(yesterday, 'active') - call('HEXISTS', yesterday, mine)
if used(of_pull, 'spent') + amount > tonumber(A[2]) then return {'pull', used(of_pull, 'spent')} end
if used(today, 'spent') + amount > tonumber(A[3]) then return {'day', used(today, 'spent')} end
if others > 0 and used(today, mine) + amount > tonumber(A[4]) then return {'share', used(today, mine)} end
call('HINCRBY', of_pull, 'spent', A[1])
end_with(KEYS[6], of_pull)
call('HINCRBY', today, 'spent', A[1])
call('HINCRBY', today, mine, A[1])
call('HSETNX', of_pull, 'since', reservation)
call('HSET', reservation, 'amount', A[1], 'since', call('HGET', of_pull, 'since'))
call('EXPIRE', reservation, A[7])
return {'granted', 0}
