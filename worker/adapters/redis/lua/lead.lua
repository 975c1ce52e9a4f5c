-- One dispatcher leads. 1: it is this one. Sees to it that numbers go on growing even if Redis lost some.
-- KEYS leader   ARGV token lease_ms
if (call('GET', KEYS[1]) or A[1]) ~= A[1] then return 0 end
call('SET', KEYS[1], A[1], 'PX', A[2])
if tonumber(call('GET', 'assay:count') or 0) < now then call('SET', 'assay:count', string.format('%.0f', now)) end
return 1
