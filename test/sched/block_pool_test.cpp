// SPDX-License-Identifier: Apache-2.0
// The memory of tasks: it serves other threads than the one that frees it, and is given back.
#include <tbb/flow_graph.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "system.hpp"

namespace {

std::atomic<long> aligned_bytes{0}, peak_bytes{0};

}  // namespace

// What the scheduler allocates for tasks is aligned.
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* const block = test::aligned_block(std::size_t(alignment), size);
  if (block == nullptr) throw std::bad_alloc();
  const long now = aligned_bytes += long(size);
  for (long peak = peak_bytes; peak < now && !peak_bytes.compare_exchange_weak(peak, now);) {
  }
  return block;
}
void operator delete(void* block, std::size_t size, std::align_val_t) noexcept {
  aligned_bytes -= long(size);
  test::free_aligned(block);
}

namespace {

// More than what the threads and the pool keep.
constexpr long kMuch = 10'000'000;

TEST(BlockPool, AFloodOfTasksIsGivenBack) {
  for (int round = 0; round < 3; ++round) {
    peak_bytes = 0;
    std::atomic<int> calls{0};
    tbb::task_group group;
    constexpr int kTasks = 300'000;
    for (int i = 0; i < kTasks; ++i) group.run([&] { ++calls; });
    group.wait();
    EXPECT_EQ(calls, kTasks);
    EXPECT_GT(peak_bytes, kMuch);
    EXPECT_LT(aligned_bytes, kMuch / 2);
  }
}

// One thread allocates, the others free.
TEST(BlockPool, BlocksGoFromThreadToThread) {
  std::atomic<int> calls{0};
  tbb::flow::graph g;
  tbb::flow::function_node<std::uint64_t> node(g, tbb::flow::unlimited,
                                               [&](std::uint64_t) { ++calls; });
  constexpr int kMessages = 30'000, kThreads = 3;
  for (int round = 0; round < 10; ++round) {
    std::vector<std::thread> threads;
    g.reserve_wait();
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kMessages; ++i) node.try_put(1);
      });
    }
    std::thread last([&] {
      for (std::thread& t : threads) t.join();
      g.release_wait();
    });
    g.wait_for_all();
    last.join();
    EXPECT_EQ(calls, (round + 1) * kMessages * kThreads);
    EXPECT_LT(aligned_bytes, kMuch / 2);
  }
}

}  // namespace
