// SPDX-License-Identifier: Apache-2.0
// How many atomic read-modify-writes of shared memory a pair of malloc and free costs in the steady
// state: none where a thread frees its own blocks, a small fraction where another thread frees
// them. Scalability rests on that, and it can be counted on any number of processors.
#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "counted_atomics.hpp"

namespace corbel::test {
namespace {

void* make(std::size_t size) {
  void* block = scalable_malloc(size);
  if (block == nullptr) std::abort();
  std::memset(block, 1, std::min<std::size_t>(size, 16));
  return block;
}

struct Count {
  std::uint64_t pairs = 0;   // blocks freed; as many were allocated
  std::uint64_t writes = 0;  // read-modify-writes of all threads

  double per_pair() const { return double(writes) / double(pairs); }
};

// Runs `work(thread, round)` in each of `threads` threads, round after round, and counts the rounds
// after the warm-up. The threads begin each round together. `work` returns how many blocks it
// freed. The free memory of earlier tests is given back first, so that it is not purged during the
// measurement. The helper thread sleeps nearly always and is not counted.
template <typename Work>
Count measure(unsigned threads, unsigned warm_rounds, unsigned rounds, Work work) {
  scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
  std::atomic<std::uint64_t> pairs{0};
  std::atomic<std::uint64_t> writes{0};
  std::barrier begin(threads);
  const auto run = [&](unsigned thread) {
    std::uint64_t freed = 0;
    std::uint64_t before = 0;
    for (unsigned round = 0; round < warm_rounds + rounds; ++round) {
      begin.arrive_and_wait();
      if (round == warm_rounds) {
        before = read_modify_writes();
        freed = 0;
      }
      freed += work(thread, round);
    }
    writes += read_modify_writes() - before;
    pairs += freed;
    begin.arrive_and_wait();
  };
  std::vector<std::thread> others;
  for (unsigned thread = 0; thread < threads; ++thread) others.emplace_back(run, thread);
  for (std::thread& other : others) other.join();
  return {pairs, writes};
}

void show(const std::string& kernel, const Count& count) {
  std::printf("shared writes: %-26s %8llu pairs %6llu writes %.6f a pair\n", kernel.c_str(),
              static_cast<unsigned long long>(count.pairs),
              static_cast<unsigned long long>(count.writes), count.per_pair());
  testing::Test::RecordProperty("writes a pair: " + kernel, std::to_string(count.per_pair()));
}

// One thread.

TEST(SharedWrites, AreCountedAtAll) {
  const std::uint64_t before = read_modify_writes();
  scalable_free(scalable_malloc(1 << 20));  // a span, which is allocated under a lock
  EXPECT_GE(read_modify_writes() - before, 4U);
}

TEST(SharedWrites, OneSizeOneThread) {
  for (const std::size_t size : {8, 16, 100, 1024, 8000, 16'000, 50'000, 128'000}) {
    const Count count = measure(1, 1, 10, [&](unsigned, unsigned) {
      for (int i = 0; i < 100'000; ++i) scalable_free(make(size));
      return 100'000;
    });
    show("one size, " + std::to_string(size), count);
    EXPECT_EQ(count.writes, 0U);
  }
}

TEST(SharedWrites, MixedSizesFreedInAnyOrder) {
  std::mt19937 random(1);
  const Count count = measure(1, 1000, 10'000, [&](unsigned, unsigned) {
    std::array<void*, 100> blocks;
    for (void*& block : blocks) block = make(9 + random() % 1016);
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (void* block : blocks) scalable_free(block);
    return blocks.size();
  });
  show("mixed sizes", count);
  // A page is committed to the footprint on first use. That becomes rare.
  EXPECT_LE(count.writes * 1000, count.pairs);
}

struct Node {
  Node* left;
  Node* right;
  std::uint64_t key;
  std::uint64_t value;
};
static_assert(sizeof(Node) == 32);

Node* build(std::uint64_t first, std::uint64_t count) {
  if (count == 0) return nullptr;
  const std::uint64_t half = count / 2;
  Node* left = build(first, half);
  auto* node = static_cast<Node*>(make(sizeof(Node)));
  *node = {left, build(first + half + 1, count - half - 1), first + half, 0};
  return node;
}

void destroy(Node* node) {
  if (node == nullptr) return;
  destroy(node->left);
  destroy(node->right);
  scalable_free(node);
}

TEST(SharedWrites, TreeBuiltAndFreed) {
  constexpr unsigned kNodes = 100'000;
  const Count count = measure(1, 3, 20, [](unsigned, unsigned) {
    destroy(build(0, kNodes));
    return kNodes;
  });
  show("tree", count);
  // Slabs that are not kept for the next tree cost two locks for 2,048 blocks.
  EXPECT_LE(count.writes * 500, count.pairs);
}

// Larson's server benchmark, in which each thread keeps to its own blocks.
TEST(SharedWrites, TwoThreadsWithSlotsOfTheirOwn) {
  constexpr unsigned kSlots = 1000;
  constexpr unsigned kSteps = 20'000;
  std::array<std::vector<void*>, 2> slots{std::vector<void*>(kSlots), std::vector<void*>(kSlots)};
  std::array<std::mt19937, 2> random{std::mt19937(1), std::mt19937(2)};
  const Count count = measure(2, 10, 50, [&](unsigned thread, unsigned) {
    for (unsigned step = 0; step < kSteps; ++step) {
      void*& slot = slots[thread][random[thread]() % kSlots];
      scalable_free(slot);
      slot = make(9 + random[thread]() % 1016);
    }
    return kSteps;
  });
  for (auto& own : slots) std::for_each(own.begin(), own.end(), scalable_free);
  show("two threads with slots", count);
  EXPECT_LE(count.writes * 1000, count.pairs);
}

// Blocks that another thread frees: at most one write for 16 of them, both threads together.

// A queue of one producer and one consumer.
class Queue {
 public:
  void push(void* block) {
    while (pushed_.load() - popped_.load() == kCapacity) std::this_thread::yield();
    ring_[pushed_.load() % kCapacity] = block;
    ++pushed_;
  }
  void* pop() {
    while (pushed_.load() == popped_.load()) std::this_thread::yield();
    void* const block = ring_[popped_.load() % kCapacity];
    ++popped_;
    return block;
  }

 private:
  static constexpr std::size_t kCapacity = 1024;
  std::array<void*, kCapacity> ring_{};
  std::atomic<std::size_t> pushed_{0};
  std::atomic<std::size_t> popped_{0};
};

template <typename Size>
Count produce_and_consume(Size size) {
  constexpr unsigned kBlocks = 50'000;
  Queue queue;
  return measure(2, 4, 10, [&](unsigned thread, unsigned) {
    for (unsigned i = 0; i < kBlocks; ++i) {
      if (thread == 0) {
        queue.push(make(size()));
      } else {
        scalable_free(queue.pop());
      }
    }
    return thread == 0 ? 0 : kBlocks;
  });
}

TEST(SharedWrites, ProducerAndConsumer) {
  const Count count =
      produce_and_consume([random = std::mt19937(1)]() mutable { return 9 + random() % 1016; });
  show("producer, consumer", count);
  EXPECT_LE(count.writes * 16, count.pairs);
}

TEST(SharedWrites, EightBytesFreedByAnotherThread) {
  const Count count = produce_and_consume([] { return 8; });
  show("8 bytes, another thread", count);
  EXPECT_LE(count.writes * 16, count.pairs);
}

// Each thread swaps its blocks for those in a shared place, and so frees blocks of any thread.
TEST(SharedWrites, FourThreadsFreeEachOthersBlocks) {
  constexpr unsigned kPlaces = 4096;
  constexpr unsigned kSteps = 20'000;
  std::vector<std::atomic<void*>> places(kPlaces);
  std::array<std::mt19937, 4> random{std::mt19937(1), std::mt19937(2), std::mt19937(3),
                                     std::mt19937(4)};
  const Count count = measure(4, 5, 20, [&](unsigned thread, unsigned) {
    for (unsigned step = 0; step < kSteps; ++step) {
      void* const block = make(9 + random[thread]() % 1016);
      scalable_free(places[random[thread]() % kPlaces].exchange(block));
    }
    return kSteps;
  });
  for (const std::atomic<void*>& place : places) scalable_free(place);
  show("four threads exchange", count);
  EXPECT_LE(count.writes * 16, count.pairs);
}

}  // namespace
}  // namespace corbel::test
