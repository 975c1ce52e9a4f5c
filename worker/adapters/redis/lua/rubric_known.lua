-- A rubric's version stands for one content: what it was when it was first used. Answers that content's hash.
-- KEYS rubrics   ARGV id@version hash
call('HSETNX', KEYS[1], A[1], A[2])
return call('HGET', KEYS[1], A[1])
