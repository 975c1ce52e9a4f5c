-- End the evaluations whose judges are dead. Answers how many there were.
-- ARGV hold_ms
return lose_dead(A[1])
