-- Apply commands if others still have the replies that they had. 1: applied, 0: one of them has another reply.
-- ARGV number of checks, each check: number of parts, parts of the command, canonical reply; each command: number of parts, parts
local at = 2
local function command()
  local first, last = at + 1, at + ARGV[at]
  at = last + 1
  return unpack(ARGV, first, last)
end
local function canonical(reply)
  if not reply then return '-' end
  if type(reply) == 'number' then return string.format(':%d', reply) end
  if type(reply) == 'string' then return '$' .. #reply .. ' ' .. reply end
  if reply.ok then return canonical(reply.ok) end
  local parts = {}
  for number, part in ipairs(reply) do parts[number] = canonical(part) end
  return '*' .. #reply .. ' ' .. table.concat(parts)
end
for _ = 1, ARGV[1] do
  local reply = redis.call(command())
  at = at + 1
  if canonical(reply) ~= ARGV[at - 1] then return 0 end
end
while at <= #ARGV do redis.call(command()) end
return 1
