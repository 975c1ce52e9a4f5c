-- The judge goes on. 0: it lost its lease and must stop; else 1.
-- KEYS pull   ARGV token lease_ms
if not held_by(A[1]) then return 0 end
call('ZADD', 'assay:out', now + A[2], pull)
return 1
