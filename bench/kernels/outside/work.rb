# SPDX-License-Identifier: Apache-2.0
# Objects, arrays, hashes and strings: work.rb COUNT
count = ARGV[0].to_i
state = 1
draw = lambda do |bound|
  state = (state * 1103515245 + 12345) % 2147483648
  (state >> 16) % bound
end

Item = Struct.new(:id, :name, :tags)
groups = Hash.new { |hash, key| hash[key] = [] }
count.times do |i|
  name = "name-of-an-item-#{draw.call(3000)}"
  groups[name] << Item.new(i, name.dup, Array.new(1 + draw.call(9)) { |n| "#{name}/#{n}" })
end
sum = 0
groups.sort.each do |name, items|
  text = items.flat_map(&:tags).join(",").tr("a-m", "A-M")
  sum = (sum * 31 + text.scan(/\d+/).map(&:to_i).sum + name.size) % 1_000_000_007
end
puts "#{groups.size} #{sum}"
