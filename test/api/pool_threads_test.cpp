// SPDX-License-Identifier: Apache-2.0
// Several threads use one pool: blocks keep their contents, a fixed pool loses no memory, and where
// required, the pool requests raw memory only once.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "raw_source.hpp"

namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int kThreads = 6;

template <typename Body>
void in_threads(int count, Body body) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      waiting.fetch_sub(1);
      while (waiting.load() != 0) std::this_thread::yield();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The content of a block follows from its size and mark, so any thread can check it.
struct Block {
  std::size_t size;
  unsigned char mark;
  unsigned char bytes[1];

  static constexpr std::size_t kHeader = sizeof(std::size_t) + 1;

  static Block* fill(void* memory, std::size_t size, unsigned mark) {
    Block* block = static_cast<Block*>(memory);
    block->size = size;
    block->mark = static_cast<unsigned char>(mark);
    std::memset(block->bytes, block->mark, size - kHeader);
    return block;
  }
  bool intact() const {
    for (std::size_t i = 0; i < size - kHeader; ++i) {
      if (bytes[i] != mark) return false;
    }
    return true;
  }
};

std::size_t random_size(std::mt19937& random) {
  switch (random() % 8) {
    case 0:
      return 9000 + random() % 30000;
    case 1:
      return 1024 + random() % 7000;
    default:
      return 16 + random() % 1000;
  }
}

// Allocates, reallocates and frees at random. Another thread frees half of the blocks.
void churn(rml::MemoryPool* pool, int steps, bool may_fail) {
  constexpr int kMailboxes = 64;
  std::atomic<Block*> mailboxes[kMailboxes] = {};
  std::atomic<int> broken{0};
  in_threads(kThreads, [&](int id) {
    std::mt19937 random(static_cast<unsigned>(id) + 1);
    std::vector<Block*> mine;
    for (int step = 0; step < steps; ++step) {
      const std::size_t size = random_size(random);
      const unsigned action = random() % 10;
      void* memory = nullptr;
      if (action == 0 && !mine.empty()) {
        Block* old = mine.back();
        if (!old->intact()) broken.fetch_add(1);
        memory = rml::pool_realloc(pool, old, size);
        if (memory != nullptr) mine.pop_back();
      } else if (action == 1) {
        const std::size_t alignment = std::size_t{8} << (random() % 10);
        memory = rml::pool_aligned_malloc(pool, size, alignment);
        if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) broken.fetch_add(1);
      } else {
        memory = rml::pool_malloc(pool, size);
      }
      if (memory == nullptr && !may_fail) broken.fetch_add(1);
      if (memory != nullptr) mine.push_back(Block::fill(memory, size, random()));
      if (mine.size() > 100 || (memory == nullptr && !mine.empty())) {
        const std::size_t victim = random() % mine.size();
        Block* block = mine[victim];
        mine[victim] = mine.back();
        mine.pop_back();
        if (random() % 2 == 0) block = mailboxes[random() % kMailboxes].exchange(block);
        if (block != nullptr) {
          if (!block->intact()) broken.fetch_add(1);
          rml::pool_free(pool, block);
        }
      }
    }
    for (Block* block : mine) {
      if (!block->intact()) broken.fetch_add(1);
      rml::pool_free(pool, block);
    }
  });
  for (auto& mailbox : mailboxes) {
    Block* block = mailbox.load();
    if (block == nullptr) continue;
    if (!block->intact()) broken.fetch_add(1);
    rml::pool_free(pool, block);
  }
  EXPECT_EQ(broken.load(), 0);
}

TEST(PoolThreads, GrowingPoolKeepsContents) {
  RawSource source;
  source.misalignment = 1;
  {
    ScopedPool pool(source);
    churn(pool, 40000, false);
  }
  EXPECT_EQ(source.live(), 0U);
  EXPECT_EQ(source.wrong, 0U);
}

TEST(PoolThreads, KeepingPoolKeepsContents) {
  RawSource source;
  rml::MemPoolPolicy policy = source.policy();
  policy.keepAllMemory = 1;
  {
    ScopedPool pool(source, policy);
    churn(pool, 20000, false);
    EXPECT_EQ(source.given_back, 0U);
  }
  EXPECT_EQ(source.live(), 0U);
}

TEST(PoolThreads, ExhaustedFixedPoolKeepsContentsAndMemory) {
  RawSource source;
  source.fixed_size = 2 * kMiB;
  ScopedPool pool(source, source.fixed_policy());
  churn(pool, 20000, true);
  EXPECT_EQ(source.calls, 1U);
  EXPECT_NE(rml::pool_malloc(pool, 1900 * kKiB), nullptr);
}

TEST(PoolThreads, SmallFixedPoolKeepsContentsAndMemory) {
  RawSource source;
  source.fixed_size = 200 * kKiB;
  ScopedPool pool(source, source.fixed_policy());
  churn(pool, 10000, true);
  EXPECT_EQ(source.calls, 1U);
  EXPECT_NE(rml::pool_malloc(pool, 180 * kKiB), nullptr);
}

TEST(PoolThreads, FreshFixedPoolServesAllAtOnce) {
  for (int round = 0; round < 20; ++round) {
    RawSource source;
    source.fixed_size = 8 * kMiB;
    ScopedPool pool(source, source.fixed_policy());
    constexpr int kMany = 32;
    std::atomic<int> failed{0};
    in_threads(kMany, [&](int) {
      void* p = rml::pool_malloc(pool, 7 * kMiB / kMany / 2);
      if (p == nullptr) failed.fetch_add(1);
      rml::pool_free(pool, p);
    });
    ASSERT_EQ(failed.load(), 0);
    ASSERT_EQ(source.calls, 1U);
  }
}

TEST(PoolThreads, PoolsEndInOtherThreads) {
  RawSource sources[kThreads];
  rml::MemoryPool* pools[kThreads];
  void* blocks[kThreads];
  in_threads(kThreads, [&](int id) {
    const rml::MemPoolPolicy policy = sources[id].policy();
    rml::pool_create_v1(sources[id].id(), &policy, &pools[id]);
    blocks[id] = rml::pool_malloc(pools[id], 100);
    std::memset(blocks[id], id, 100);
  });
  in_threads(kThreads, [&](int id) {
    const int other = kThreads - 1 - id;
    EXPECT_EQ(static_cast<char*>(blocks[other])[99], other);
    rml::pool_free(pools[other], blocks[other]);
    EXPECT_TRUE(rml::pool_destroy(pools[other]));
    EXPECT_EQ(sources[other].live(), 0U);
  });
}

}  // namespace
