-- SPDX-License-Identifier: Apache-2.0
-- Objects, closures and strings in tables: work.lua COUNT
local count = tonumber(arg[1])
local state = 1
local function draw(bound)
  state = (state * 1103515245 + 12345) % 2147483648
  return (state // 65536) % bound
end

local words, sum = {}, 0
for i = 1, count do
  local item = {id = i, name = "n" .. draw(5000), tags = {}}
  for t = 1, 1 + draw(4) do item.tags[t] = item.name:rep(1 + draw(3), "-") end
  local size = function() return #item.tags + item.id % 7 end
  local text = table.concat(item.tags, ",")
  words[item.name] = (words[item.name] or 0) + size() + #text:gsub("%d", "x")
  if i % 1000 == 0 then words["kept" .. i] = item.id end
end
local names = {}
for name in pairs(words) do names[#names + 1] = name end
table.sort(names)
for i, name in ipairs(names) do sum = (sum * 31 + words[name] * i) % 1000000007 end
print(#names, sum)
