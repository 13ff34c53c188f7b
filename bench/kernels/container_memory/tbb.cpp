// SPDX-License-Identifier: Apache-2.0
// The memory of containers with the oneTBB API.
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_priority_queue.h>
#include <tbb/concurrent_queue.h>
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_vector.h>

#include "container_memory.hpp"

namespace {

using at_rest::empty;
using at_rest::filled;
using container_memory::Number;

void run(bench::Arguments& arguments, bench::Result& result) {
  const auto insert = [](auto& map, Number i) { map.insert({i, i}); };
  const auto push = [](auto& queue, Number i) { queue.push(i); };
  const auto push_back = [](auto& vector, Number i) { vector.push_back(i); };
  using Hash = tbb::concurrent_hash_map<Number, Number>;
  using Unordered = tbb::concurrent_unordered_map<Number, Number>;
  using Ordered = tbb::concurrent_map<Number, Number>;
  using Vector = tbb::concurrent_vector<Number>;
  using Queue = tbb::concurrent_queue<Number>;
  using Priorities = tbb::concurrent_priority_queue<Number>;
  at_rest::measure(arguments, result,
                   {{"hash_map", empty<Hash>()},
                    {"in_hash_map", filled<Hash>(insert)},
                    {"unordered_map", empty<Unordered>()},
                    {"in_unordered_map", filled<Unordered>(insert)},
                    {"map", empty<Ordered>()},
                    {"in_map", filled<Ordered>(insert)},
                    {"vector", empty<Vector>()},
                    {"in_vector", filled<Vector>(push_back)},
                    {"queue", empty<Queue>()},
                    {"in_queue", filled<Queue>(push)},
                    {"bounded_queue", empty<tbb::concurrent_bounded_queue<Number>>()},
                    {"priority_queue", empty<Priorities>()},
                    {"in_priority_queue", filled<Priorities>(push)}});
}

}  // namespace

const bench::Kernel bench::kernel = container_memory::description(run);
