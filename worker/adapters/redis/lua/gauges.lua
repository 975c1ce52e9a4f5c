-- How it stands right now, of all installations together; at most a thousand of them are looked at.
-- KEYS lookahead deadlines leader paused {queue of errands}...
-- Answers: due, late (their time has come), age of the latest in ms, given, held, check runs that are open, whether a
-- dispatcher leads, whether everything is paused, check runs to open, verdicts on a whole to make, and each queue's length
local seen = {}
for _, line in ipairs({'due', 'due_outside', 'opening', 'opening_outside'}) do
  for _, one in ipairs(call('ZRANGE', 'assay:turn:' .. line, 0, 999)) do seen[one] = true end
end
local states = {given = 0, held = 0}
for _, one in ipairs(call('ZRANGE', 'assay:out', 0, 999)) do
  pull = one
  local state, installation = get('state'), get('inst')
  if states[state] then states[state] = states[state] + 1 end
  if installation then seen[installation] = true end
end
local due, late, age, opening = 0, 0, 0, 0
for installation in pairs(seen) do
  for _, line in ipairs({'', '_outside'}) do
    local waiting = 'assay:' .. installation .. ':due' .. line
    due = due + call('ZCARD', waiting)
    late = late + call('ZCOUNT', waiting, 0, now)
    local oldest = first(waiting)
    if oldest[1] then age = max(age, now - oldest[2]) end
    opening = opening + call('ZCARD', 'assay:' .. installation .. ':opening' .. line)
  end
end
local found = {
  due, late, math.floor(age), states.given, states.held, call('ZCARD', KEYS[2]), call('EXISTS', KEYS[3]),
  call('EXISTS', KEYS[4]), opening, call('ZCOUNT', KEYS[1], 0, now),
}
for number = 5, #KEYS do found[#found + 1] = call('ZCARD', KEYS[number]) end
return found
