-- A request was billed: give back what was reserved and not spent, once. Nothing comes back of a reservation that is
-- gone, or whose bill is not known. Answers what the pull request and the day have used, and which of the two came
-- near its cap for the first time.
-- KEYS day of_pull reservation   ARGV bill('' unknown) repository pull_near day_near model density('' unknown)
-- Amounts are whole nanodollars; a density is tokens in a million bytes.
local day, of_pull, reservation = KEYS[1], KEYS[2], KEYS[3]
local reserved = call('HMGET', reservation, 'amount', 'settled')
if reserved[1] and not reserved[2] then
  local bill = A[1] == '' and reserved[1] or A[1]
  local change = string.format('%.0f', bill - reserved[1])
  call('HSET', reservation, 'settled', bill)
  call('HINCRBY', of_pull, 'spent', change)
  call('HINCRBY', day, 'spent', change)
  call('HINCRBY', day, 'repo:' .. A[2], change)
  if A[6] ~= '' then
    local densest = 'dense:' .. A[5]
    call('HINCRBY', day, 'replies:' .. A[5], 1)
    call('HSET', day, densest, string.format('%.0f', max(A[6], call('HGET', day, densest) or 0)))
  end
end
local function used(key, near)
  local spent = tonumber(call('HGET', key, 'spent') or 0)
  local is_first = spent >= tonumber(near) and call('HSETNX', key, 'warned', 1) or 0
  return spent, is_first
end
local pull_used, pull_first = used(of_pull, A[3])
local day_used, day_first = used(day, A[4])
return {pull_used, pull_first, day_used, day_first}
