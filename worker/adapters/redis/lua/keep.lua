-- The judge goes on. {}: it lost its lease and must stop; else {why}: what was told since it began that has a verdict count no
-- more, {''} if nothing was.
-- KEYS pull   ARGV token lease_ms
if not held_by(A[1]) then return {} end
call('ZADD', 'assay:out', now + A[2], pull)
return {get('again') or ''}
