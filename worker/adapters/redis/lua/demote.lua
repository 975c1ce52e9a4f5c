-- A signal becomes a suspicion in an installation, once. 1: it was none.
-- KEYS demoted   ARGV signal note
return call('HSETNX', KEYS[1], A[1], A[2])
