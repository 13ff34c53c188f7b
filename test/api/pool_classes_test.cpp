// SPDX-License-Identifier: Apache-2.0
// tbb::memory_pool, fixed_pool and memory_pool_allocator.
#define TBB_PREVIEW_MEMORY_POOL 1
#include <gtest/gtest.h>
#include <tbb/memory_pool.h>

#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace {

static_assert(std::is_same<tbb::fixed_pool, corbel::fixed_pool>::value, "one class, two names");

// Counts the memory that a pool takes. Throws on demand.
struct Counts {
  std::size_t taken = 0, given = 0;
  bool refuse = false;
};

template <typename T>
struct CountingAllocator {
  using value_type = T;
  Counts* counts;

  T* allocate(std::size_t n) {
    if (counts->refuse) throw std::bad_alloc();
    counts->taken += n;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    counts->given += n;
    std::allocator<T>().deallocate(p, n);
  }
};

struct Unit {
  char bytes[24];
};

TEST(MemoryPool, AllocatesFreesAndRecycles) {
  tbb::memory_pool<std::allocator<char>> pool;
  void* p = pool.malloc(100);
  ASSERT_NE(p, nullptr);
  std::memset(p, 7, 100);
  p = pool.realloc(p, 100000);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(static_cast<char*>(p)[99], 7);
  pool.free(p);
  pool.free(nullptr);
  EXPECT_NE(pool.malloc(0), nullptr);
  pool.recycle();
  EXPECT_NE(pool.malloc(100), nullptr);
}

TEST(MemoryPool, GivesAllMemoryBackInUnits) {
  Counts counts;
  {
    tbb::memory_pool<CountingAllocator<Unit>> pool(CountingAllocator<Unit>{&counts});
    EXPECT_EQ(counts.taken, 0U);
    for (int i = 0; i < 1000; ++i) ASSERT_NE(pool.malloc(1000), nullptr);
    ASSERT_NE(pool.malloc(5000000), nullptr);
    EXPECT_GE(counts.taken * sizeof(Unit), 6000000U);
  }
  EXPECT_EQ(counts.taken, counts.given);
}

TEST(MemoryPool, IsNullWhenTheAllocatorThrows) {
  Counts counts;
  counts.refuse = true;
  tbb::memory_pool<CountingAllocator<char>> pool(CountingAllocator<char>{&counts});
  EXPECT_EQ(pool.malloc(100), nullptr);
  counts.refuse = false;
  EXPECT_NE(pool.malloc(100), nullptr);
}

TEST(FixedPool, StaysInItsBuffer) {
  std::vector<char> buffer(1 << 20);
  tbb::fixed_pool pool(buffer.data(), buffer.size());
  std::size_t blocks = 0;
  while (char* p = static_cast<char*>(pool.malloc(1000))) {
    ASSERT_GE(p, buffer.data());
    ASSERT_LE(p + 1000, buffer.data() + buffer.size());
    ++blocks;
  }
  EXPECT_GT(blocks, 900U);
  pool.recycle();
  EXPECT_NE(pool.malloc(900000), nullptr);
}

TEST(FixedPool, ServesFromOneKibibyte) {
  char buffer[1024];
  tbb::fixed_pool pool(buffer, sizeof(buffer));
  void* p = pool.malloc(10);
  EXPECT_NE(p, nullptr);
  pool.free(p);
}

TEST(FixedPool, WritesNothingOutsideItsBuffer) {
  std::vector<unsigned char> memory(100000 + 128, 0xee);
  {
    tbb::fixed_pool pool(memory.data() + 61, 100000);
    for (std::size_t size : {10, 100, 1000, 10000}) {
      while (void* p = pool.malloc(size)) std::memset(p, 0, size);
    }
    pool.recycle();
  }
  for (std::size_t i = 0; i < 61; ++i) ASSERT_EQ(memory[i], 0xee);
  for (std::size_t i = 100061; i < memory.size(); ++i) ASSERT_EQ(memory[i], 0xee);
}

TEST(FixedPool, NeedsABuffer) {
  char buffer[64];
  EXPECT_THROW(tbb::fixed_pool(nullptr, 1000), std::invalid_argument);
  EXPECT_THROW(tbb::fixed_pool(buffer, 0), std::invalid_argument);
  EXPECT_THROW(tbb::fixed_pool(nullptr, 0), std::invalid_argument);
}

TEST(MemoryPoolAllocator, ServesContainers) {
  std::vector<char> buffer(4 << 20);
  tbb::fixed_pool pool(buffer.data(), buffer.size());
  {
    using Pair = std::pair<const int, int>;
    tbb::memory_pool_allocator<int> allocator(pool);
    std::vector<int, tbb::memory_pool_allocator<int>> vector(allocator);
    for (int i = 0; i < 10000; ++i) vector.push_back(i);
    EXPECT_EQ(vector[9999], 9999);
    std::list<int, tbb::memory_pool_allocator<int>> list(vector.begin(), vector.begin() + 100,
                                                         allocator);
    EXPECT_EQ(list.back(), 99);
    std::map<int, int, std::less<int>, tbb::memory_pool_allocator<Pair>> map(
        (std::less<int>()), tbb::memory_pool_allocator<Pair>(allocator));
    for (int i = 0; i < 1000; ++i) map[i] = i;
    EXPECT_EQ(map.size(), 1000U);
    EXPECT_GE(static_cast<void*>(vector.data()), static_cast<void*>(buffer.data()));
  }
  EXPECT_NE(pool.malloc(3 << 20), nullptr);
}

TEST(MemoryPoolAllocator, IsEqualByItsPool) {
  char a_buffer[4096], b_buffer[4096];
  tbb::fixed_pool a(a_buffer, sizeof(a_buffer)), b(b_buffer, sizeof(b_buffer));
  tbb::memory_pool_allocator<int> first(a), second(a), other(b);
  tbb::memory_pool_allocator<char> rebound(first);
  tbb::memory_pool_allocator<void> none(first);
  EXPECT_TRUE(first == second);
  EXPECT_FALSE(first != second);
  EXPECT_TRUE(first == rebound);
  EXPECT_TRUE(first == none);
  EXPECT_TRUE(first != other);
  EXPECT_GT(first.max_size(), 1000U);
}

TEST(MemoryPoolAllocator, ThrowsBadAlloc) {
  char buffer[4096];
  tbb::fixed_pool pool(buffer, sizeof(buffer));
  tbb::memory_pool_allocator<int> allocator(pool);
  EXPECT_THROW(allocator.allocate(100000), std::bad_alloc);
  EXPECT_THROW(allocator.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(allocator.allocate(SIZE_MAX / sizeof(int) + 2), std::bad_alloc);
}

TEST(MemoryPoolAllocator, LetsAPoolLiveInAPool) {
  std::vector<char> buffer(4 << 20);
  tbb::fixed_pool outer(buffer.data(), buffer.size());
  {
    using Inner = tbb::memory_pool_allocator<char>;
    tbb::memory_pool<Inner> inner((Inner(outer)));
    for (int i = 0; i < 1000; ++i) {
      char* p = static_cast<char*>(inner.malloc(200));
      ASSERT_GE(p, buffer.data());
      ASSERT_LT(p, buffer.data() + buffer.size());
    }
  }
  EXPECT_NE(outer.malloc(3 << 20), nullptr);
}

}  // namespace
