// SPDX-License-Identifier: Apache-2.0
// Queues between threads: half of the threads push and half pop; every thread pushes and pops in
// bursts; every thread pushes one item and pops one. On one thread the first is bursts, too.
//
// An adapter of a contestant is a class Queue of 64-bit numbers:
//   Queue(std::size_t capacity)      of a bounded queue; others ignore it
//   void push(std::uint64_t)         waits while a bounded queue is full
//   std::uint64_t pop()              waits while the queue is empty
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "core_time.hpp"
#include "harness.hpp"
#include "marks.hpp"

namespace transfer {

inline constexpr std::size_t kCapacity = 1024;
inline constexpr std::uint64_t kBurst = 100;  // of 8 threads: fits into the capacity

// Calls `attempt()` until it succeeds, for queues that do not wait themselves. On more threads than
// cores only yielding lets the other side go on.
template <typename Attempt>
void until(const Attempt& attempt) {
  for (unsigned spins = 1; !attempt(); ++spins) {
    if (spins % 16 == 0) std::this_thread::yield();
  }
}

template <typename Queue>
std::uint64_t push_and_pop(Queue& queue, std::uint64_t first, std::uint64_t count,
                           std::uint64_t burst) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; i += burst) {
    for (std::uint64_t k = 0; k < burst; ++k) queue.push(first + i + k);
    for (std::uint64_t k = 0; k < burst; ++k) sum += bench::mark_of(queue.pop());
  }
  return sum;
}

// What a thread does; returns the sum of the marks of what it has popped.
template <typename Queue>
std::uint64_t work_of(Queue& queue, const std::string& work, unsigned thread, unsigned threads,
                      std::uint64_t count) {
  const std::uint64_t each = count / threads, first = thread * each;
  if (work == "pairs") return push_and_pop(queue, first, each, 1);
  if (work == "bursts" || threads == 1) return push_and_pop(queue, first, each, kBurst);
  std::uint64_t sum = 0;
  const std::uint64_t own = 2 * each;  // half of the threads share all items
  if (thread % 2 == 0) {
    for (std::uint64_t i = 0; i < own; ++i) queue.push(thread / 2 * own + i);
  } else {
    for (std::uint64_t i = 0; i < own; ++i) sum += bench::mark_of(queue.pop());
  }
  return sum;
}

// The run function of a contestant.
template <typename Queue>
void measure(bench::Arguments& arguments, bench::Result& result) {
  const std::string work = arguments.text("work", "transfer");
  bench::check(work == "transfer" || work == "bursts" || work == "pairs",
               "work= is transfer, bursts or pairs");
  const std::uint64_t count = arguments.number("count", 80'000);
  const unsigned threads = arguments.threads();
  bench::check(threads == 1 || threads % 2 == 0, "threads= is 1 or even");
  bench::check(count % (threads * kBurst) == 0, "count= is a multiple of 100 for every thread");
  Queue queue(kCapacity);
  std::atomic<std::uint64_t> sum{0};
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    // A sum, read after the threads end.
    sum.fetch_add(work_of(queue, work, thread, threads, count), std::memory_order_relaxed);
  });
  result.value = bench::core_seconds_each(result.seconds, threads, count) * 1e9;
  result.checksum = sum.load(std::memory_order_relaxed);
}

inline bench::Kernel description(const char* name, const char* title, const char* what,
                                 void (*run)(bench::Arguments&, bench::Result&)) {
  const auto sizes = [](const char* label, const std::string& work) {
    return bench::Case{label, work + " count=400000", work + " count=4000000",
                       work + " count=40000000"};
  };
  return {
      .name = name,
      .title = title,
      .what = what,
      .group = "container",
      .metric = "processor time of an item",
      .unit = "ns",
      .plot = "lines",
      .threads = {1, 2, 4, 8},
      .brief_threads = {1, 2, 4},
      .cases = {sizes("transfer", "work=transfer"), sizes("bursts", "work=bursts"),
                sizes("pairs", "work=pairs")},
      .run = run,
  };
}

}  // namespace transfer
