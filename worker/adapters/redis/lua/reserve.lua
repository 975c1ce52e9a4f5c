-- Set money aside before a model is asked. {'granted', 0}, or the cap in the way and how much of it is used; {'gone', 0}
-- where nothing is on record of the pull request any more: it was forgotten while it was judged, and no book is opened anew.
-- A repository that asked counts as active, today and tomorrow, whatever it was told; so does the author of a pull request.
-- KEYS today yesterday of_pull reservation pull ledger
-- ARGV amount pull_cap day_cap share_cap repository day_s reservation_s author_cap
-- Amounts are whole nanodollars.
local today, yesterday, of_pull, reservation = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
pull = KEYS[5]
local amount, mine = tonumber(A[1]), 'repo:' .. A[5]
if call('EXISTS', reservation) == 1 then return {'granted', 0} end
if call('EXISTS', pull, KEYS[6]) == 0 then return {'gone', 0} end
local author = get('author')
local theirs = author and 'author:' .. author
local function asks(field, count)
  if call('HSETNX', today, field, 0) == 1 then
    call('HINCRBY', today, count, 1)
    call('EXPIRE', today, A[6])
  end
end
asks(mine, 'active')
if theirs then asks(theirs, 'authors') end
local function used(key, field) return tonumber(call('HGET', key, field) or 0) end
local function has_others(field, count)
  return used(today, count) - 1 + used(yesterday, count) - call('HEXISTS', yesterday, field) > 0
end
if used(of_pull, 'spent') + amount > tonumber(A[2]) then return {'pull', used(of_pull, 'spent')} end
if used(today, 'spent') + amount > tonumber(A[3]) then return {'day', used(today, 'spent')} end
if has_others(mine, 'active') and used(today, mine) + amount > tonumber(A[4]) then return {'share', used(today, mine)} end
if theirs and has_others(theirs, 'authors') and used(today, theirs) + amount > tonumber(A[8]) then
  return {'author', used(today, theirs)}
end
call('HINCRBY', of_pull, 'spent', A[1])
end_with(KEYS[6], of_pull)
call('HINCRBY', today, 'spent', A[1])
call('HINCRBY', today, mine, A[1])
if theirs then
  call('HINCRBY', today, theirs, A[1])
  call('HSET', reservation, 'author', theirs)
end
call('HSETNX', of_pull, 'since', reservation)
call('HSET', reservation, 'amount', A[1], 'since', call('HGET', of_pull, 'since'))
call('EXPIRE', reservation, A[7])
return {'granted', 0}
