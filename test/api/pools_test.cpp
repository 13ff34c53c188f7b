// SPDX-License-Identifier: Apache-2.0
// Tests the rml::pool_* functions sentence by sentence, as <corbel/raw_pool.hpp> documents them.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "raw_source.hpp"

namespace {

using rml::MemoryPool;
using rml::MemPoolPolicy;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
const std::size_t kSizes[] = {0,    1,    8,    9,    16,        100,       640,
                              1100, 4000, 8128, 8129, 16 * kKiB, 50 * kKiB, 3 * kMiB};

bool aligned(const void* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

bool all_bytes(const void* p, std::size_t size, int value) {
  const unsigned char* bytes = static_cast<const unsigned char*>(p);
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

TEST(PoolPolicy, HasTheBinaryLayoutOfTbb) {
  static_assert(sizeof(MemPoolPolicy) == 32, "size");
  static_assert(offsetof(MemPoolPolicy, pAlloc) == 0, "pAlloc");
  static_assert(offsetof(MemPoolPolicy, pFree) == 8, "pFree");
  static_assert(offsetof(MemPoolPolicy, granularity) == 16, "granularity");
  static_assert(offsetof(MemPoolPolicy, version) == 24, "version");
  MemPoolPolicy policy(RawSource::take, RawSource::give, 0, true, false);
  std::uint32_t flags = 0;
  std::memcpy(&flags, reinterpret_cast<char*>(&policy) + 28, 4);
  EXPECT_EQ(flags, 1U);
  policy = MemPoolPolicy(RawSource::take, RawSource::give, 0, false, true);
  std::memcpy(&flags, reinterpret_cast<char*>(&policy) + 28, 4);
  EXPECT_EQ(flags, 2U);
  EXPECT_EQ(rml::POOL_OK, 0);
  EXPECT_EQ(rml::INVALID_POLICY, 1);
  EXPECT_EQ(rml::UNSUPPORTED_POLICY, 2);
  EXPECT_EQ(rml::NO_MEMORY, 3);
  EXPECT_EQ(rml::NO_EFFECT, 4);
}

TEST(PoolCreate, RefusesBadPolicies) {
  const auto result = [](const MemPoolPolicy& policy) {
    int mark = 0;
    MemoryPool* pool = reinterpret_cast<MemoryPool*>(&mark);
    const rml::MemPoolError error = rml::pool_create_v1(1, &policy, &pool);
    EXPECT_EQ(pool, nullptr);
    return error;
  };
  EXPECT_EQ(result(MemPoolPolicy(nullptr, RawSource::give)), rml::INVALID_POLICY);
  EXPECT_EQ(result(MemPoolPolicy(nullptr, nullptr, 0, true)), rml::INVALID_POLICY);
  EXPECT_EQ(result(MemPoolPolicy(RawSource::take, nullptr)), rml::INVALID_POLICY);
  MemPoolPolicy policy(RawSource::take, RawSource::give);
  policy.version = 2;
  EXPECT_EQ(result(policy), rml::UNSUPPORTED_POLICY);
  policy.version = 0;
  EXPECT_EQ(result(policy), rml::INVALID_POLICY);
  policy.version = 1;
  policy.reserved = 1;
  EXPECT_EQ(result(policy), rml::UNSUPPORTED_POLICY);
}

TEST(PoolCreate, RequestsNoMemoryBeforeTheFirstBlock) {
  RawSource source;
  const MemPoolPolicy policy = source.policy();
  MemoryPool* pool = nullptr;
  ASSERT_EQ(rml::pool_create_v1(source.id(), &policy, &pool), rml::POOL_OK);
  EXPECT_EQ(source.calls, 0U);
  EXPECT_TRUE(rml::pool_destroy(pool));
  EXPECT_EQ(source.calls + source.given_back, 0U);
}

TEST(PoolCreate, OneRequestServesTheFirstBlock) {
  for (std::size_t size : {8, 1024, 8128, 9 * 1024, 100 * 1024}) {
    RawSource source;
    ScopedPool pool(source);
    EXPECT_NE(rml::pool_malloc(pool, size), nullptr);
    EXPECT_EQ(source.calls, 1U) << size;
  }
}

TEST(PoolCreate, TheOlderFormWorks) {
  RawSource source;
  const MemPoolPolicy policy = source.policy();
  MemoryPool* pool = rml::pool_create(source.id(), &policy);
  ASSERT_NE(pool, nullptr);
  EXPECT_NE(rml::pool_malloc(pool, 100), nullptr);
  EXPECT_TRUE(rml::pool_destroy(pool));
  EXPECT_EQ(source.live(), 0U);
}

TEST(PoolNull, IsAccepted) {
  MemoryPool* none = nullptr;
  EXPECT_FALSE(rml::pool_destroy(none));
  EXPECT_FALSE(rml::pool_reset(none));
  EXPECT_EQ(rml::pool_malloc(none, 8), nullptr);
  EXPECT_EQ(rml::pool_identify(nullptr), nullptr);
  RawSource source;
  ScopedPool pool(source);
  EXPECT_FALSE(rml::pool_free(pool, nullptr));
  errno = 0;
  EXPECT_EQ(rml::pool_msize(pool, nullptr), 0U);
  EXPECT_EQ(errno, EINVAL);
}

TEST(PoolDestroy, GivesEverythingBack) {
  for (std::size_t misalignment : {0, 1, 8}) {
    RawSource source;
    source.misalignment = misalignment;
    {
      ScopedPool pool(source);
      for (int i = 0; i < 300; ++i) {
        for (std::size_t size : kSizes) {
          if (size < kMiB) std::memset(rml::pool_malloc(pool, size), 1, size);
        }
      }
      EXPECT_GT(source.live(), 0U);
    }
    EXPECT_EQ(source.live(), 0U);
    EXPECT_EQ(source.wrong, 0U);
  }
}

TEST(PoolDestroy, ReportsAFailedFree) {
  RawSource source;
  source.free_result = -1;
  const MemPoolPolicy policy = source.policy();
  MemoryPool* pool = nullptr;
  rml::pool_create_v1(source.id(), &policy, &pool);
  ASSERT_NE(rml::pool_malloc(pool, 16), nullptr);
  EXPECT_FALSE(rml::pool_destroy(pool));
  EXPECT_EQ(source.live(), 0U);
}

TEST(PoolMalloc, GivesAlignedDistinctBlocks) {
  RawSource source;
  source.misalignment = 1;
  ScopedPool pool(source);
  std::map<unsigned char*, std::pair<std::size_t, int>> blocks;
  int value = 0;
  for (int round = 0; round < 40; ++round) {
    for (std::size_t size : kSizes) {
      auto* p = static_cast<unsigned char*>(rml::pool_malloc(pool, size));
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(aligned(p, size <= 8 ? 8 : 16)) << size;
      EXPECT_GE(rml::pool_msize(pool, p), size);
      std::memset(p, ++value % 256, size);
      EXPECT_TRUE(blocks.emplace(p, std::make_pair(size, value % 256)).second);
    }
  }
  for (const auto& each : blocks) {
    EXPECT_TRUE(all_bytes(each.first, each.second.first, each.second.second));
    EXPECT_TRUE(rml::pool_free(pool, each.first));
  }
}

// Slabs full of blocks of every class: no two blocks overlap, and none lies where a large one
// would.
TEST(PoolMalloc, FillsSlabsOfEveryClass) {
  RawSource source;
  ScopedPool pool(source);
  for (std::size_t size = 8; size <= 8128; size += 8) {
    std::map<std::uintptr_t, void*> blocks;
    for (std::size_t total = 0; total < 40 * kKiB; total += size) {
      void* p = rml::pool_malloc(pool, size);
      ASSERT_NE(p, nullptr);
      ASSERT_FALSE(aligned(p, 4096));
      ASSERT_EQ(rml::pool_identify(p), pool);
      blocks.emplace(reinterpret_cast<std::uintptr_t>(p), p);
    }
    std::uintptr_t end = 0;
    for (const auto& each : blocks) {
      ASSERT_GE(each.first, end) << size;
      end = each.first + rml::pool_msize(pool, each.second);
      rml::pool_free(pool, each.second);
    }
  }
}

TEST(PoolMalloc, RefusesImpossibleSizes) {
  RawSource source;
  ScopedPool pool(source);
  for (std::size_t size : {SIZE_MAX, SIZE_MAX - 64, std::size_t{PTRDIFF_MAX}}) {
    EXPECT_EQ(rml::pool_malloc(pool, size), nullptr);
    EXPECT_EQ(rml::pool_aligned_malloc(pool, size, 4096), nullptr);
  }
  EXPECT_EQ(source.calls, 0U);
  EXPECT_EQ(rml::pool_aligned_malloc(pool, 8, std::size_t{1} << 63), nullptr);
}

TEST(PoolMalloc, IsNullWhenTheSourceRefuses) {
  RawSource source;
  source.budget = 0;
  ScopedPool pool(source);
  for (std::size_t size : kSizes) EXPECT_EQ(rml::pool_malloc(pool, size), nullptr);
}

TEST(PoolMalloc, RequestsLessBeforeItGivesUp) {
  RawSource source;
  source.budget = 5 * kMiB;
  ScopedPool pool(source);
  std::size_t got = 0;
  while (rml::pool_malloc(pool, 5000) != nullptr) got += 5000;
  EXPECT_GT(got, 4 * kMiB);
  EXPECT_LT(source.budget, 128 * kKiB);
}

TEST(PoolMalloc, ReturnsRawMemoryThatIsTooSmall) {
  RawSource source;
  source.fixed_size = 64 * kKiB;
  {
    ScopedPool pool(source);
    EXPECT_EQ(rml::pool_malloc(pool, kMiB), nullptr);
    EXPECT_NE(rml::pool_malloc(pool, 16 * kKiB), nullptr);
    EXPECT_NE(rml::pool_malloc(pool, 16), nullptr);
  }
  EXPECT_EQ(source.live(), 0U);
  EXPECT_EQ(source.wrong, 0U);
}

TEST(PoolGranularity, EveryRequestIsAMultiple) {
  for (std::size_t granularity : {24 * std::size_t{1}, 4 * kKiB, 2 * kMiB, 6 * kMiB, 10 * kMiB}) {
    RawSource source;
    source.granularity = granularity;
    {
      ScopedPool pool(source);
      for (std::size_t size = 8; size < 16 * kMiB; size += size / 2 + 8) {
        void* p = rml::pool_malloc(pool, size);
        ASSERT_NE(p, nullptr);
        rml::pool_free(pool, p);
      }
      EXPECT_NE(rml::pool_aligned_malloc(pool, 100, kMiB), nullptr);
    }
    EXPECT_EQ(source.wrong, 0U) << granularity;
    EXPECT_EQ(source.live(), 0U);
  }
}

TEST(PoolLarge, FreedBlockIsNotHandedOutForSmallOnes) {
  RawSource source;
  source.budget = 8 * kMiB;
  ScopedPool pool(source);
  rml::pool_malloc(pool, 10);
  void* large = rml::pool_malloc(pool, 32 * kKiB);
  ASSERT_NE(large, nullptr);
  while (rml::pool_malloc(pool, 5 * kKiB) != nullptr) {
  }
  rml::pool_free(pool, large);
  EXPECT_EQ(rml::pool_malloc(pool, 5 * kKiB), nullptr);
  EXPECT_EQ(rml::pool_malloc(pool, 5 * kKiB), nullptr);
}

TEST(PoolLarge, MsizeIsTheRequestedSize) {
  RawSource source;
  ScopedPool pool(source);
  for (std::size_t size : {8484 * std::size_t{1}, 16968 * std::size_t{1}, kMiB}) {
    void* p = rml::pool_malloc(pool, size);
    EXPECT_EQ(rml::pool_msize(pool, p), size);
  }
}

TEST(PoolSmall, MsizeIsThatOfTheClass) {
  RawSource source;
  ScopedPool pool(source);
  const std::size_t expected[][2] = {{8, 8},       {16, 16},     {500, 512},  {1000, 1024},
                                     {2000, 2688}, {4000, 4032}, {8000, 8128}};
  for (const auto& each : expected) {
    EXPECT_EQ(rml::pool_msize(pool, rml::pool_malloc(pool, each[0])), each[1]);
  }
}

TEST(PoolReset, KeepsTheMemoryForNewBlocks) {
  for (int keep = 0; keep < 2; ++keep) {
    RawSource source;
    MemPoolPolicy policy = source.policy();
    policy.keepAllMemory = keep != 0;
    ScopedPool pool(source, policy);
    std::size_t calls = 0;
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 100; ++i) {
        ASSERT_NE(rml::pool_malloc(pool, 8), nullptr);
        ASSERT_NE(rml::pool_malloc(pool, 50 * kKiB), nullptr);
      }
      if (round == 0) calls = source.calls;
      EXPECT_TRUE(rml::pool_reset(pool));
    }
    EXPECT_EQ(source.calls, calls);
    EXPECT_EQ(source.given_back, 0U);
  }
}

TEST(PoolReset, LetsMemoryChangeItsSizeClass) {
  RawSource source;
  source.budget = 4 * kMiB;
  ScopedPool pool(source);
  while (rml::pool_malloc(pool, 9000) != nullptr) {
  }
  EXPECT_EQ(rml::pool_malloc(pool, 100), nullptr);
  rml::pool_reset(pool);
  std::size_t got = 0;
  while (rml::pool_malloc(pool, 100) != nullptr) got += 100;
  EXPECT_GT(got, 2 * kMiB);
  rml::pool_reset(pool);
  EXPECT_NE(rml::pool_malloc(pool, 9000), nullptr);
}

TEST(PoolKeep, MemoryIsReturnedOrKept) {
  for (int keep = 0; keep < 2; ++keep) {
    RawSource source;
    MemPoolPolicy policy = source.policy();
    policy.keepAllMemory = keep != 0;
    {
      ScopedPool pool(source, policy);
      std::vector<void*> blocks;
      for (int i = 0; i < 3000; ++i) {
        blocks.push_back(rml::pool_malloc(pool, 7 * kKiB));
        blocks.push_back(rml::pool_malloc(pool, 10 * kKiB));
      }
      blocks.push_back(rml::pool_malloc(pool, 8 * kMiB));
      EXPECT_EQ(source.given_back, 0U);
      for (void* p : blocks) rml::pool_free(pool, p);
      const std::size_t calls = source.calls;
      if (keep) {
        EXPECT_EQ(source.given_back, 0U);
        EXPECT_NE(rml::pool_malloc(pool, 8 * kMiB), nullptr);
        EXPECT_EQ(source.calls, calls);
      } else {
        EXPECT_GT(source.given_back, calls / 2);
      }
    }
    EXPECT_EQ(source.live(), 0U);
    EXPECT_EQ(source.given_back, source.calls);
  }
}

TEST(PoolKeep, FreeingAndAllocatingOneBlockDoesNotRequestMemory) {
  for (std::size_t size : {std::size_t{16}, 10 * kKiB, kMiB}) {
    RawSource source;
    ScopedPool pool(source);
    for (int i = 0; i < 1000; ++i) rml::pool_free(pool, rml::pool_malloc(pool, size));
    EXPECT_EQ(source.calls, 1U) << size;
  }
}

TEST(PoolAligned, HonoursAlignment) {
  RawSource source;
  source.misalignment = 1;
  ScopedPool pool(source);
  for (std::size_t alignment = 1; alignment <= 8 * kMiB; alignment *= 2) {
    for (std::size_t size : {1, 8, 64, 100, 4000, 8000, 9000, 100 * 1024}) {
      void* p = rml::pool_aligned_malloc(pool, size, alignment);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(aligned(p, alignment)) << size << ' ' << alignment;
      EXPECT_GE(rml::pool_msize(pool, p), size);
      EXPECT_EQ(rml::pool_identify(p), pool);
      std::memset(p, 0x42, size);
      EXPECT_TRUE(rml::pool_free(pool, p));
    }
  }
}

TEST(PoolAligned, RefusesBadArguments) {
  RawSource source;
  ScopedPool pool(source);
  EXPECT_EQ(rml::pool_aligned_malloc(pool, 100, 0), nullptr);
  EXPECT_EQ(rml::pool_aligned_malloc(pool, 100, 24), nullptr);
  EXPECT_EQ(rml::pool_aligned_malloc(pool, 0, 64), nullptr);
  void* p = rml::pool_malloc(pool, 100);
  std::memset(p, 3, 100);
  EXPECT_EQ(rml::pool_aligned_realloc(pool, p, 200, 24), nullptr);
  EXPECT_TRUE(all_bytes(p, 100, 3));
}

TEST(PoolRealloc, KeepsTheContents) {
  RawSource source;
  ScopedPool pool(source);
  for (std::size_t from : kSizes) {
    for (std::size_t to : kSizes) {
      if (from == 0 || to == 0) continue;
      for (std::size_t alignment : {std::size_t{0}, std::size_t{8}, std::size_t{64}, 8 * kKiB}) {
        void* p = rml::pool_malloc(pool, from);
        std::memset(p, 0x3c, from);
        void* q = alignment == 0 ? rml::pool_realloc(pool, p, to)
                                 : rml::pool_aligned_realloc(pool, p, to, alignment);
        ASSERT_NE(q, nullptr);
        EXPECT_TRUE(aligned(q, alignment == 0 ? 8 : alignment));
        EXPECT_GE(rml::pool_msize(pool, q), to);
        EXPECT_TRUE(all_bytes(q, from < to ? from : to, 0x3c));
        std::memset(q, 0x11, to);
        rml::pool_free(pool, q);
      }
    }
  }
}

TEST(PoolRealloc, OfNullAllocatesAndToZeroFrees) {
  RawSource source;
  ScopedPool pool(source);
  void* p = rml::pool_realloc(pool, nullptr, 100);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(rml::pool_realloc(pool, p, 0), nullptr);
  p = rml::pool_aligned_realloc(pool, nullptr, 100, 128);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(rml::pool_aligned_realloc(pool, p, 0, 128), nullptr);
}

TEST(PoolRealloc, FailureLeavesTheBlock) {
  RawSource source;
  source.budget = kMiB;
  ScopedPool pool(source);
  for (std::size_t size : {std::size_t{100}, 20 * kKiB}) {
    void* p = rml::pool_malloc(pool, size);
    std::memset(p, 0x66, size);
    EXPECT_EQ(rml::pool_realloc(pool, p, 2 * kMiB), nullptr);
    EXPECT_EQ(rml::pool_realloc(pool, p, SIZE_MAX), nullptr);
    EXPECT_TRUE(all_bytes(p, size, 0x66));
    EXPECT_EQ(rml::pool_msize(pool, p), size == 100 ? 112 : size);
  }
}

TEST(PoolRealloc, GrowsALargeBlockInPlace) {
  RawSource source;
  source.fixed_size = 8 * kMiB;
  ScopedPool pool(source, source.fixed_policy());
  void* p = rml::pool_malloc(pool, kMiB);
  for (std::size_t size = kMiB; size < 7 * kMiB; size += 300 * kKiB) {
    ASSERT_EQ(rml::pool_realloc(pool, p, size), p);
  }
  ASSERT_EQ(rml::pool_realloc(pool, p, 20 * kKiB), p);
  EXPECT_NE(rml::pool_malloc(pool, 7 * kMiB), nullptr);
}

TEST(PoolIdentify, FindsThePoolOfABlock) {
  RawSource a_source, b_source, c_source;
  c_source.fixed_size = 32 * kKiB;
  ScopedPool a(a_source), b(b_source), c(c_source, c_source.fixed_policy());
  MemoryPool* pools[] = {a, b, c};
  for (std::size_t size : {8, 100, 1000, 5000, 9000}) {
    for (MemoryPool* pool : pools) {
      void* p = rml::pool_malloc(pool, size);
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(rml::pool_identify(p), pool) << size;
      rml::pool_free(pool, p);
    }
  }
}

TEST(PoolFixed, RequestsOnceAndUsesAllItGets) {
  RawSource source;
  source.fixed_size = 8 * kMiB;
  source.granularity = 4 * kKiB;
  {
    ScopedPool pool(source, source.fixed_policy());
    for (int i = 0; i < 3; ++i) {
      void* p = rml::pool_malloc(pool, 7 * kMiB);
      ASSERT_NE(p, nullptr);
      std::memset(p, 1, 7 * kMiB);
      EXPECT_EQ(rml::pool_malloc(pool, kMiB), nullptr);
      rml::pool_free(pool, p);
      void* parts[7];
      for (void*& part : parts) {
        part = rml::pool_malloc(pool, kMiB);
        ASSERT_NE(part, nullptr);
      }
      for (void* part : parts) rml::pool_free(pool, part);
    }
    EXPECT_EQ(source.calls, 1U);
    EXPECT_EQ(source.wrong, 0U);
  }
  EXPECT_EQ(source.calls, 1U);
  EXPECT_EQ(source.given_back, 0U);
}

TEST(PoolFixed, MemoryServesSmallAndLargeInTurn) {
  RawSource source;
  source.fixed_size = 2 * kMiB;
  ScopedPool pool(source, source.fixed_policy());
  for (int round = 0; round < 3; ++round) {
    for (std::size_t size : {16 * std::size_t{1}, 200 * std::size_t{1}, 5 * kKiB, 100 * kKiB}) {
      std::vector<void*> blocks;
      while (void* p = rml::pool_malloc(pool, size)) blocks.push_back(p);
      EXPECT_GT(blocks.size() * size, kMiB) << size;
      for (void* p : blocks) rml::pool_free(pool, p);
    }
    void* p = rml::pool_malloc(pool, 1900 * kKiB);
    EXPECT_NE(p, nullptr);
    rml::pool_free(pool, p);
  }
  EXPECT_EQ(source.calls, 1U);
}

TEST(PoolFixed, EvenTheSmallestBuffersHoldABlock) {
  for (std::size_t bytes = 1 * kKiB; bytes <= 4 * kMiB; bytes = bytes * 3 / 2 + 7) {
    RawSource source;
    source.fixed_size = bytes;
    source.misalignment = bytes % 16;
    ScopedPool pool(source, source.fixed_policy());
    std::set<void*> blocks;
    while (void* p = rml::pool_malloc(pool, 10)) {
      std::memset(p, 1, 10);
      ASSERT_TRUE(aligned(p, 16));
      ASSERT_EQ(rml::pool_identify(p), pool);
      ASSERT_TRUE(blocks.insert(p).second);
    }
    EXPECT_GE(blocks.size(), 5U) << bytes;
    for (void* p : blocks) rml::pool_free(pool, p);
    EXPECT_NE(rml::pool_malloc(pool, bytes / 2), nullptr) << bytes;
  }
}

TEST(PoolFixed, ATooSmallBufferHoldsNoBlock) {
  RawSource source;
  source.fixed_size = 16;
  ScopedPool pool(source, source.fixed_policy());
  EXPECT_EQ(rml::pool_malloc(pool, 1), nullptr);
  EXPECT_EQ(rml::pool_malloc(pool, 1), nullptr);
  EXPECT_EQ(source.calls, 1U);
}

TEST(PoolFixed, ReturnsTheBufferAtTheEndIfThereIsAFreeFunction) {
  RawSource source;
  MemPoolPolicy policy = source.policy();
  policy.fixedPool = 1;
  {
    ScopedPool pool(source, policy);
    rml::pool_free(pool, rml::pool_malloc(pool, 100));
    rml::pool_free(pool, rml::pool_malloc(pool, kMiB));
    EXPECT_EQ(source.given_back, 0U);
  }
  EXPECT_EQ(source.live(), 0U);
}

TEST(PoolMany, PoolsAreIndependentAndCheap) {
  constexpr int kPools = 2000;
  std::vector<MemoryPool*> pools(kPools);
  RawSource source;
  const MemPoolPolicy policy = source.policy();
  for (MemoryPool*& pool : pools) {
    ASSERT_EQ(rml::pool_create_v1(source.id(), &policy, &pool), rml::POOL_OK);
    ASSERT_NE(rml::pool_malloc(pool, 1024), nullptr);
  }
  for (MemoryPool* pool : pools) EXPECT_TRUE(rml::pool_destroy(pool));
  EXPECT_EQ(source.live(), 0U);
}

using PoolDeathTest = testing::Test;

TEST(PoolDeathTest, ABlockOfAnotherPoolEndsInOneLine) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  RawSource source, other_source;
  ScopedPool pool(source), other(other_source);
  void* small = rml::pool_malloc(other, 100);
  void* large = rml::pool_malloc(other, 100 * kKiB);
  EXPECT_DEATH(rml::pool_free(pool, small), "corbel: pool_free: not a block of this pool");
  EXPECT_DEATH(rml::pool_free(pool, large), "corbel: pool_free: not a block of this pool");
}

TEST(PoolDeathTest, ALargeBlockFreedTwiceEndsInOneLine) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  RawSource source;
  ScopedPool pool(source);
  void* keep = rml::pool_malloc(pool, 100 * kKiB);
  void* large = rml::pool_malloc(pool, 20 * kKiB);
  rml::pool_free(pool, large);
  EXPECT_DEATH(rml::pool_free(pool, large), "corbel: pool_free: .*freed twice");
  rml::pool_free(pool, keep);
}

}  // namespace
