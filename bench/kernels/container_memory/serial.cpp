// SPDX-License-Identifier: Apache-2.0
// The memory of the standard containers.
#include <map>
#include <queue>
#include <unordered_map>
#include <vector>

#include "container_memory.hpp"

namespace {

using at_rest::empty;
using at_rest::filled;
using container_memory::Number;

void run(bench::Arguments& arguments, bench::Result& result) {
  const auto insert = [](auto& map, Number i) { map.insert({i, i}); };
  const auto push = [](auto& queue, Number i) { queue.push(i); };
  const auto push_back = [](auto& vector, Number i) { vector.push_back(i); };
  using Unordered = std::unordered_map<Number, Number>;
  using Ordered = std::map<Number, Number>;
  using Vector = std::vector<Number>;
  using Queue = std::queue<Number>;
  using Priorities = std::priority_queue<Number>;
  at_rest::measure(arguments, result,
                   {{"hash_map", empty<Unordered>()},
                    {"in_hash_map", filled<Unordered>(insert)},
                    {"unordered_map", empty<Unordered>()},
                    {"in_unordered_map", filled<Unordered>(insert)},
                    {"map", empty<Ordered>()},
                    {"in_map", filled<Ordered>(insert)},
                    {"vector", empty<Vector>()},
                    {"in_vector", filled<Vector>(push_back)},
                    {"queue", empty<Queue>()},
                    {"in_queue", filled<Queue>(push)},
                    {"bounded_queue", empty<Queue>()},
                    {"priority_queue", empty<Priorities>()},
                    {"in_priority_queue", filled<Priorities>(push)}});
}

}  // namespace

const bench::Kernel bench::kernel = container_memory::description(run);
