-- Something happened, told once and all of it: the mark says for how long the same is known.
-- KEYS stream mark   ARGV keep_ms mark_s [kind event]...
if not call('SET', KEYS[2], 1, 'NX', 'EX', A[2]) then return 0 end
for at = 3, #A, 2 do tell(KEYS[1], A[1], A[at], A[at + 1]) end
return 1
