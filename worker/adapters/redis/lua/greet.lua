-- Repositories that the App may see from now on: their open pull requests are to be looked at.
-- KEYS greetings texts arrival ...   ARGV id text since id text since ...
for at = 1, #A, 3 do
  call('HSET', KEYS[2], A[at], A[at + 1])
  call('ZADD', KEYS[1], now, A[at])
  call('HSETNX', KEYS[3 + (at - 1) / 3], 'since', A[at + 2])
end
return #A / 3
