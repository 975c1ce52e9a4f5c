-- Nothing is to be judged after all, as long as nothing else is asked for. 0: something was, or it is being judged.
-- KEYS pull   ARGV delivery keep_s
local request = get('req')
if get('state') ~= 'due' or get('flags') or not request then return 0 end
if not string.find(request, '"delivery_id":"' .. A[1] .. '"', 1, true) then return 0 end
call('ZREM', mine_key(line_of('due')), pull)
close(A[2])
return 1
