-- Repositories that the App may see from now on: their open pull requests are to be looked at.
-- KEYS greetings texts   ARGV id text id text ...
for at = 1, #A, 2 do
  call('HSET', KEYS[2], A[at], A[at + 1])
  call('ZADD', KEYS[1], now, A[at])
end
return #A / 2
