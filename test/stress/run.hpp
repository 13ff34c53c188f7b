// SPDX-License-Identifier: Apache-2.0
// Shared by the variants of the stress test: the run, its threads and its end.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "worker.hpp"

namespace corbel::stress {

using Clock = std::chrono::steady_clock;

struct Run {
  std::uint64_t seed = 0;
  std::size_t threads = 4;
  Clock::time_point end;
  std::unique_ptr<Mailboxes> mailboxes = std::make_unique<Mailboxes>();
  std::atomic<std::uint64_t> steps{0};

  bool over() const { return Clock::now() >= end; }
  std::uint64_t seed_of(std::size_t thread) const { return mix(seed + thread * 7919); }
};

inline void count(Run& run, std::uint64_t steps) {
  // relaxed: a figure for the report, read after all threads are joined
  run.steps.fetch_add(steps, std::memory_order_relaxed);
}

template <class Body>
void in_threads(std::size_t n, Body body) {
  std::vector<std::thread> threads;
  threads.reserve(n);
  for (std::size_t i = 0; i < n; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

inline void step_until_over(Run& run, Worker& worker) {
  while (!run.over()) {
    for (int i = 0; i < 64; ++i) worker.step();
    count(run, 64);
  }
}

// When figures must be right that the allocator's helper thread may still change.
inline Clock::time_point end_of_rest(const AllocatorUnderTest& functions) {
  return Clock::now() + std::chrono::seconds(functions.has_helper_thread ? 10 : 0);
}

// The live bytes while all threads stand still, except perhaps the allocator's helper thread, which
// may have a few blocks in flight.
inline std::size_t live_bytes_at_rest(const AllocatorUnderTest& functions, std::size_t expected) {
  const auto end = end_of_rest(functions);
  std::size_t live = functions.live_bytes();
  while (live != expected && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    live = functions.live_bytes();
  }
  return live;
}

// What may stay committed when there are no live blocks: the allocator's tables and some pages.
constexpr std::size_t kStays = std::size_t{8} << 20;

// Called when there are no live blocks and free memory has been given back. The helper thread may
// still be giving some back.
inline void check_footprint_is_back(const AllocatorUnderTest& functions) {
  const auto end = end_of_rest(functions);
  Block figures;
  figures.requested = kStays;
  figures.usable = functions.footprint();
  while (figures.usable > kStays && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    figures.usable = functions.footprint();
  }
  if (figures.usable > kStays) fail("footprint not back (asked: allowed, usable: now)", figures);
}

// Limits that change while threads allocate (limits.cpp).
void run_limits(Run& run);
void run_soft_limits(Run& run);
void run_set_and_lifted(Run& run);
void run_one_byte(Run& run);
void run_callbacks(Run& run);

// Large blocks of growing sizes under limits (growing.cpp).
void run_growing_above(Run& run);
void run_growing_below(Run& run);
void run_growing_hard(Run& run);

}  // namespace corbel::stress
