-- The check of a head says what counts no more: from here on it rests. Answers {why} that is, {''} where it was cancelled before
-- this was its head again, {} where nothing of the kind is so.
-- Who judges by now shows that himself; one that is open already says nothing that counts no more; and one that was skipped
-- is not judged again.
-- KEYS check checks deadlines notes resting pull shown   ARGV id head keep_s deadline_ms note number
pull = KEYS[6]
local why, state, said = get('again'), get('state'), call('HGET', KEYS[7], A[6])
if get('head') ~= A[2] or get('over') then return {} end
local begun = why and string.match(why, '^(%S+) begun$')
local is_open = call('HEXISTS', KEYS[2], A[2]) == 1
local is_stale = why and (state == 'due' or state == 'given') and (begun or (not is_open and said ~= 'skipped'))
if not is_stale and (is_open or said ~= 'cancelled') then return {} end
if is_stale and not begun then call('HSET', pull, 'again', why .. ' begun') end
call('SET', KEYS[1], A[1], 'EX', A[3])
call('HSET', KEYS[2], A[2], A[1])
call('EXPIRE', KEYS[2], A[3])
call('SADD', KEYS[5], A[2])
call('EXPIRE', KEYS[5], A[3])
call('ZADD', KEYS[3], now + A[4], KEYS[1])
call('HSET', KEYS[4], KEYS[1], A[5])
return {is_stale and (begun or why) or ''}
