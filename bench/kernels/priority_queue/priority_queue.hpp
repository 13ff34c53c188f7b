// SPDX-License-Identifier: Apache-2.0
// A priority queue that threads share: each pushes a random item and pops the greatest, in turns,
// while the queue holds 10,000 items.
//
// An adapter of a contestant is a template Queue<Item>:
//   void push(Item)
//   bool try_pop(Item&)      the greatest; false if the queue is empty
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "../container_keys.hpp"
#include "../core_time.hpp"
#include "../harness.hpp"

namespace priority_queue {

inline constexpr std::uint64_t kHeld = 10'000;

inline std::uint64_t value_of(std::uint64_t item) { return item; }
inline std::uint64_t value_of(const std::string& item) {
  return std::stoull(item.substr(8), nullptr, 16);
}

template <template <typename> class Queue, typename Item>
void measure_with(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t count = arguments.number("count", 64'000);
  bench::check(count % bench::kLanes == 0, "count= is a multiple of 64");
  Queue<Item> queue;
  for (std::uint64_t i = 0; i < kHeld; ++i) queue.push(bench::key_of<Item>(i));
  const std::uint64_t each = count / bench::kLanes;
  std::atomic<std::uint64_t> sum{0};
  result.seconds = bench::in_lanes(arguments.threads(), [&](std::uint64_t lane) {
    std::uint64_t own = 0;
    Item item{};
    for (std::uint64_t i = lane * each; i < (lane + 1) * each; ++i) {
      queue.push(bench::key_of<Item>(kHeld + i));
      bench::check(queue.try_pop(item), "an item is missing");
      own += value_of(item);
    }
    sum.fetch_add(own, std::memory_order_relaxed);  // a sum, read after the threads end
  });
  // Which items are left depends on the order of the threads; all together do not.
  Item before{}, item{};
  for (std::uint64_t i = 0; i < kHeld; ++i) {
    bench::check(queue.try_pop(item), "an item is missing");
    bench::check(i == 0 || !(before < item), "items come out in the wrong order");
    sum.fetch_add(value_of(item), std::memory_order_relaxed);
    before = item;
  }
  bench::check(!queue.try_pop(item), "there are more items than pushed");
  result.value = bench::core_seconds_each(result.seconds, arguments.threads(), count) * 1e9;
  result.checksum = sum.load(std::memory_order_relaxed);
}

// The run function of a contestant.
template <template <typename> class Queue>
void measure(bench::Arguments& arguments, bench::Result& result) {
  const std::string key = arguments.text("key", "integer");
  bench::check(key == "integer" || key == "string", "key= is integer or string");
  if (key == "string") {
    measure_with<Queue, std::string>(arguments, result);
  } else {
    measure_with<Queue, std::uint64_t>(arguments, result);
  }
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "priority_queue",
      .title = "Priority queue",
      .what =
          "Every thread pushes a random item into one priority queue of 10,000 items and pops "
          "the greatest, in turns. The figure is core time per push and pop, and the serial "
          "program has a std::priority_queue.",
      .group = "container",
      .metric = "processor time of a push and a pop",
      .unit = "ns",
      .plot = "lines",
      .threads = {1, 2, 4},
      .brief_threads = {1, 2},
      .cases = {{"integers", "key=integer count=128000", "key=integer count=1280000",
                 "key=integer count=12800000"},
                {"strings", "key=string count=64000", "key=string count=640000",
                 "key=string count=6400000"}},
      .run = run,
  };
}

}  // namespace priority_queue
