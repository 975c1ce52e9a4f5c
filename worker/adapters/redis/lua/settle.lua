-- A request was billed: give back what was reserved and not spent, once. Nothing comes back of a reservation that is
-- gone, or whose bill is not known; nor to the books of a pull request that was forgotten meanwhile. Answers what the pull
-- request, the day and the repository have used (-1: it shares the day with nobody), and which of them came near its cap for
-- the first time.
-- KEYS day of_pull reservation yesterday   ARGV bill('' unknown) repository pull_near day_near model density('' unknown) share_near
-- Amounts are whole nanodollars; a density is tokens in a million bytes.
local day, of_pull, reservation, yesterday = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mine = 'repo:' .. A[2]
local reserved = call('HMGET', reservation, 'amount', 'settled', 'since', 'author')
if reserved[1] and not reserved[2] then
  local bill = A[1] == '' and reserved[1] or A[1]
  local change = string.format('%.0f', bill - reserved[1])
  call('HSET', reservation, 'settled', bill)
  if call('HGET', of_pull, 'since') == reserved[3] then call('HINCRBY', of_pull, 'spent', change) end
  call('HINCRBY', day, 'spent', change)
  call('HINCRBY', day, mine, change)
  if reserved[4] then call('HINCRBY', day, reserved[4], change) end
  if A[6] ~= '' then
    local densest = 'dense:' .. A[5]
    call('HINCRBY', day, 'replies:' .. A[5], 1)
    call('HSET', day, densest, string.format('%.0f', max(A[6], call('HGET', day, densest) or 0)))
  end
end
local function used(key, field, near, warned)
  local spent = tonumber(call('HGET', key, field) or 0)
  local is_first = spent >= tonumber(near) and call('HSETNX', key, warned, 1) or 0
  return spent, is_first
end
local function active(key) return tonumber(call('HGET', key, 'active') or 0) - call('HEXISTS', key, mine) end
local pull_used, pull_first = used(of_pull, 'spent', A[3], 'warned')
local day_used, day_first = used(day, 'spent', A[4], 'warned')
local share_used, share_first = -1, 0
if active(day) + active(yesterday) > 0 then share_used, share_first = used(day, mine, A[7], 'warned:' .. A[2]) end
return {pull_used, pull_first, day_used, day_first, share_used, share_first}
