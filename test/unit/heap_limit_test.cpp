// SPDX-License-Identifier: Apache-2.0
// The soft and the hard limit on the fake operating system.
#include "alloc/policy/heap_limit.hpp"

#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/policy/reclaim.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

constexpr std::size_t kMib = std::size_t{1} << 20;

class HeapLimitTest : public testing::Test {
 protected:
  void SetUp() override {
    trim(0);
    // A request that no system can serve makes the heap unmap its free memory.
    EXPECT_EQ(allocate(std::size_t{1} << 46), nullptr);
  }
  void TearDown() override {
    corbel_set_heap_limit(0);
    corbel_set_heap_hard_limit(0);
    corbel_on_limit(nullptr, nullptr);
    trim(0);
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
    const std::size_t resident = os::fake::resident_bytes();
    EXPECT_GE(footprint.bytes(), resident);
    EXPECT_LE(footprint.bytes(), resident + 256 * 1024) << "the footprint is too large";
    void* block = allocate(50 * kMib);
    EXPECT_NE(block, nullptr) << "the limit is still in force";
    deallocate(block);
  }
};

void* filled(void* block) {
  if (block != nullptr) std::memset(block, 0x5a, usable_size(block));
  return block;
}

struct List {
  ~List() { clear(); }
  // Returns false if the request was refused with ENOMEM.
  bool add(std::size_t size) {
    errno = 0;
    void* block = filled(allocate(size));
    if (block == nullptr) {
      EXPECT_EQ(errno, ENOMEM);
      return false;
    }
    blocks.push_back(block);
    return true;
  }
  std::size_t fill(std::size_t size) {
    const std::size_t before = blocks.size();
    while (blocks.size() < before + 10'000'000 / (size / 16 + 1) && add(size)) {
    }
    return blocks.size() - before;
  }
  void clear() {
    for (void* block : blocks) deallocate(block);
    blocks.clear();
  }
  std::vector<void*> blocks;
};

TEST_F(HeapLimitTest, ALimitOfOneByteRefusesFreshMemory) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(corbel_set_heap_hard_limit(1), 0);
    const std::size_t before = footprint.bytes();
    List list;
    EXPECT_FALSE(list.add(10 * kMib));
    EXPECT_FALSE(list.add(200000));
    // Pages that are already committed serve some blocks.
    for (std::size_t size : {8, 100, 1000, 5000, 30000, 130000}) {
      EXPECT_LT(list.fill(size) * size, 2 * kMib) << size;
    }
    EXPECT_EQ(allocate_zeroed(1000, 1000), nullptr);
    EXPECT_EQ(allocate_aligned(100, 1 << 20), nullptr);
    std::thread([] { EXPECT_EQ(allocate(100), nullptr) << "its heap needs fresh memory"; }).join();
    EXPECT_LE(footprint.bytes(), before);
    ASSERT_EQ(corbel_set_heap_hard_limit(0), 0);
    EXPECT_TRUE(list.add(10 * kMib));
    EXPECT_TRUE(list.add(100));
  }
}

TEST_F(HeapLimitTest, FreeNeedsNoMemory) {
  List list;
  for (int i = 0; i < 20000; ++i) list.add(static_cast<std::size_t>(i) % 5000);
  list.add(20 * kMib);
  ASSERT_EQ(corbel_set_heap_hard_limit(1), 0);
  const std::size_t before = footprint.bytes();
  // This thread has no heap and cannot get one.
  std::thread([&] { list.clear(); }).join();
  EXPECT_LE(footprint.bytes(), before);
  trim(0);
  EXPECT_LT(footprint.bytes() + 20 * kMib, before);
}

// A slab in dirty memory commits all its pages; in clean memory it commits only the first.
TEST_F(HeapLimitTest, ADirtySpanIsPurgedIfTheWholeSlabDoesNotFit) {
  constexpr std::size_t kBlock = 36000;
  constexpr std::size_t hole = kSizeClasses[class_of(kBlock)].units * kUnit;
  static_assert(hole - 4096 > kMediumMax);
  List list;
  for (int i = 0; i < 100; ++i) list.add(hole - 4096);
  deallocate(list.blocks[50]);
  list.blocks.erase(list.blocks.begin() + 50);
  trim(0);
  void* block = filled(allocate(kBlock));
  deallocate(block);
  flush_thread(find_heap());
  ASSERT_EQ(corbel_set_heap_hard_limit(footprint.bytes()), 0);
  void* again = allocate(kBlock);
  EXPECT_EQ(again, block);
  EXPECT_LE(footprint.bytes(), heap_limit.hard());
  deallocate(again);
}

TEST_F(HeapLimitTest, TheFootprintStopsAtTheHardLimit) {
  for (std::size_t size : {16, 1000, 20000, 150000, 3000000}) {
    const std::size_t limit = footprint.bytes() + 20 * kMib;
    ASSERT_EQ(corbel_set_heap_hard_limit(limit), 0);
    List list;
    const std::size_t count = list.fill(size);
    EXPECT_GT(count * size, 14 * kMib) << size;
    EXPECT_LE(footprint.bytes(), limit);
    EXPECT_LE(os::fake::resident_bytes(), limit);
    EXPECT_GE(heap_limit.figures().refusals, 1U);
    // Each freed block makes room for another.
    for (int i = 0; i < 100; ++i) {
      deallocate(list.blocks.back());
      list.blocks.pop_back();
      ASSERT_TRUE(list.add(size)) << size;
    }
    list.clear();
    // All of them together make room for a block of any other size.
    ASSERT_TRUE(list.add(18 * kMib));
    list.clear();
    for (int i = 0; i < 18; ++i) ASSERT_TRUE(list.add(kMib - 4096));
    ASSERT_EQ(corbel_set_heap_hard_limit(0), 0);
  }
}

void churn(unsigned seed, std::size_t limit) {
  std::mt19937 random(seed);
  struct Piece {
    unsigned char* block;
    std::size_t size;
  };
  std::vector<Piece> pieces;
  const auto check = [](const Piece& piece) {
    const std::uint8_t* begin = piece.block;
    const std::uint8_t* end = begin + piece.size;
    ASSERT_EQ(std::count(begin, end, *begin), end - begin);
  };
  for (int step = 0; step < 6000; ++step) {
    const std::size_t size = 1 + (random() % 16 == 0 ? random() % (2 * kMib) : random() % 4000);
    const unsigned kind = random() % 8;
    Piece piece{nullptr, size};
    if (kind < 4 || pieces.empty()) {
      piece.block = static_cast<unsigned char*>(kind == 0   ? allocate_zeroed(size, 1)
                                                : kind == 1 ? allocate_aligned(size, 4096)
                                                            : allocate(size));
      if (piece.block == nullptr) continue;
      if (kind == 0) check(piece);
    } else {
      const std::size_t i = random() % pieces.size();
      piece = pieces[i];
      if (kind < 6) {
        const std::size_t kept = std::min(size, piece.size);
        auto* moved = static_cast<unsigned char*>(reallocate(piece.block, size));
        if (moved == nullptr) {
          check(piece);
          continue;
        }
        check({moved, kept});
        piece = {moved, size};
      } else {
        check(piece);
        deallocate(piece.block);
        piece.block = nullptr;
      }
      pieces[i] = pieces.back();
      pieces.pop_back();
    }
    if (piece.block == nullptr) continue;
    std::memset(piece.block, static_cast<int>(random() % 256), piece.size);
    pieces.push_back(piece);
    if (step % 64 == 0) {
      ASSERT_LE(footprint.bytes(), limit);
    }
  }
  for (const Piece& piece : pieces) {
    check(piece);
    deallocate(piece.block);
  }
}

TEST_F(HeapLimitTest, ManyThreadsAtTheHardLimit) {
  const std::size_t limit = footprint.bytes() + 30 * kMib;
  ASSERT_EQ(corbel_set_heap_hard_limit(limit), 0);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(churn, i + 1, limit);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(footprint.bytes(), limit);
  EXPECT_GT(heap_limit.figures().refusals, 0U);
}

TEST_F(HeapLimitTest, LimitsChangeWhileThreadsAllocate) {
  std::atomic<bool> done{false};
  std::thread changing([&] {
    std::mt19937 random(7);
    while (!done) {
      corbel_set_heap_limit(random() % 2 * (random() % (40 * kMib)));
      corbel_set_heap_hard_limit(random() % 2 * (1 + random() % (60 * kMib)));
    }
  });
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) threads.emplace_back(churn, i + 20, SIZE_MAX);
  for (std::thread& thread : threads) thread.join();
  done = true;
  changing.join();
}

TEST_F(HeapLimitTest, ARefusedReallocKeepsTheBlock) {
  for (std::size_t size : {100, 5000, 100000, 500000, 5000000}) {
    void* block = filled(allocate(size));
    void* wall = filled(allocate(size));
    trim(0);
    ASSERT_EQ(corbel_set_heap_hard_limit(1), 0);
    errno = 0;
    EXPECT_EQ(reallocate(block, size * 20 + 10 * kMib), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(reallocate_aligned(block, size + 10 * kMib, 1 << 16), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_GE(usable_size(block), size);
    const auto* bytes = static_cast<unsigned char*>(block);
    EXPECT_EQ(std::count(bytes, bytes + size, 0x5a), std::ptrdiff_t(size));
    EXPECT_EQ(reallocate(block, size * 3 / 4), block) << "shrinking needs no memory";
    ASSERT_EQ(corbel_set_heap_hard_limit(0), 0);
    deallocate(block);
    deallocate(wall);
  }
}

TEST_F(HeapLimitTest, AGrowingBlockNeedsRoomForTheGrowthOnly) {
  void* block = filled(allocate(32 * kMib));
  void* wall = filled(allocate(kMib));
  trim(0);
  ASSERT_EQ(corbel_set_heap_hard_limit(footprint.bytes() + 9 * kMib), 0);
  void* moved = reallocate(block, 40 * kMib);
  ASSERT_NE(moved, nullptr);
  EXPECT_NE(moved, block) << "the block should have moved";
  const auto* bytes = static_cast<unsigned char*>(moved);
  EXPECT_EQ(std::count(bytes, bytes + 32 * kMib, 0x5a), std::ptrdiff_t(32 * kMib));
  filled(moved);
  EXPECT_LE(os::fake::resident_bytes(), heap_limit.hard());
  EXPECT_EQ(reallocate(moved, 44 * kMib), nullptr);
  deallocate(moved);
  deallocate(wall);
}

TEST_F(HeapLimitTest, ABlockThatGrowsWhereItIsNeedsRoomToo) {
  auto* block = static_cast<char*>(allocate(30 * kMib));
  ASSERT_EQ(reallocate(block, 4 * kMib), filled(block));
  void* wall = filled(allocate(26 * kMib));
  ASSERT_EQ(wall, block + 4 * kMib);
  // The freed end is too short to be unmapped: its addresses stay, without pages.
  ASSERT_EQ(reallocate(block, 3 * kMib), block);
  trim(0);
  ASSERT_EQ(corbel_set_heap_hard_limit(footprint.bytes() + kMib / 2), 0);
  EXPECT_EQ(reallocate(block, 4 * kMib), nullptr);
  ASSERT_EQ(reallocate(block, 3 * kMib + kMib / 2), block);
  filled(block);
  EXPECT_LE(os::fake::resident_bytes(), heap_limit.hard());
  deallocate(block);
  deallocate(wall);
}

// The tail of a block is not counted until the block grows.
TEST_F(HeapLimitTest, ABlockThatGrowsWhereItIsNeedsRoomForItsTailToo) {
  auto* block = static_cast<char*>(allocate(130 << 10));
  // Room for two more units, but not for the tail as well.
  ASSERT_EQ(corbel_set_heap_limit(footprint.bytes() + (150 << 10)), 0);
  ASSERT_EQ(reallocate(block, 320 << 10), block);
  deallocate(block);
}

// ---- the callback -----------------------------------------------------------------------------

struct Larder {
  std::vector<void*> reserve;
  std::atomic<int> calls{0};
  int answer = 1;
  bool recurses = false;
  std::size_t last_size = 0;
};

int give_from(void* context, std::size_t size) {
  auto* larder = static_cast<Larder*>(context);
  ++larder->calls;
  larder->last_size = size;
  errno = 99;
  if (larder->recurses) {
    // The callback may allocate small blocks itself. Large requests in it fail.
    void* small = allocate(10);
    EXPECT_EQ(allocate(50 * kMib), nullptr);
    deallocate(small);
  }
  if (larder->reserve.empty()) return larder->answer;
  deallocate(larder->reserve.back());
  larder->reserve.pop_back();
  return 1;
}

TEST_F(HeapLimitTest, TheCallbackFreesAndTheRequestSucceeds) {
  Larder larder;
  larder.answer = 0;
  for (int i = 0; i < 10; ++i) larder.reserve.push_back(filled(allocate(2 * kMib)));
  ASSERT_EQ(corbel_on_limit(give_from, &larder), 0);
  ASSERT_EQ(corbel_set_heap_hard_limit(footprint.bytes() + kMib), 0);
  List list;
  for (larder.recurses = false;; larder.recurses = true) {
    const int before = larder.calls;
    ASSERT_TRUE(list.add(5 * kMib));
    EXPECT_GE(larder.calls - before, 2);
    EXPECT_LE(larder.calls - before, 3);
    EXPECT_GE(larder.last_size, 2 * kMib);
    EXPECT_NE(errno, 99);
    if (larder.recurses) break;
  }
  // The reserve is now smaller than the request, so the callback returns 0.
  EXPECT_FALSE(list.add(30 * kMib));
  EXPECT_TRUE(larder.reserve.empty());
  const int calls = larder.calls;
  ASSERT_EQ(corbel_on_limit(nullptr, nullptr), 0);
  EXPECT_FALSE(list.add(30 * kMib));
  EXPECT_EQ(larder.calls, calls);
}

TEST_F(HeapLimitTest, ACallbackThatFreesNothingIsCalledEightTimes) {
  Larder larder;
  ASSERT_EQ(corbel_on_limit(give_from, &larder), 0);
  ASSERT_EQ(corbel_set_heap_hard_limit(1), 0);
  List list;
  EXPECT_FALSE(list.add(10 * kMib));
  EXPECT_EQ(larder.calls, 8);
  void* block = nullptr;
  EXPECT_EQ(allocate_zeroed(1, 5 * kMib), block);
  EXPECT_EQ(larder.calls, 16);
}

TEST_F(HeapLimitTest, TheCallbackServesSmallBlocksAndThreads) {
  Larder larder;
  larder.answer = 0;
  for (int i = 0; i < 6; ++i) larder.reserve.push_back(filled(allocate(2 * kMib)));
  ASSERT_EQ(corbel_on_limit(give_from, &larder), 0);
  ASSERT_EQ(corbel_set_heap_hard_limit(footprint.bytes() + kMib), 0);
  std::thread([] {
    List list;
    EXPECT_GT(list.fill(200) * 200, 11 * kMib);
  }).join();
  EXPECT_EQ(larder.calls, 7);
}

// ---- the soft limit ---------------------------------------------------------------------------

// Three neighbouring blocks, the middle one free and clean: 22 units. The request is for 20 units,
// and the limit leaves room for 15. With the outer blocks committed the footprint would have to
// grow by 16 units; if they are purged first, by 14.
TEST_F(HeapLimitTest, MemoryFreedByTheCallbackIsPurgedIfItIsTooSmall) {
  struct Ends {
    void* low;
    void* high;
  };
  List list;
  for (int i = 0; i < 90; ++i) list.add((i % 3 == 1 ? 16 : 3) * kUnit);
  const auto at = [&](std::size_t i) { return static_cast<char*>(list.blocks[i]); };
  std::size_t first = 0;
  while (at(first + 1) != at(first) + 3 * kUnit || at(first + 2) != at(first) + 19 * kUnit) {
    first += 3;
    ASSERT_LT(first, list.blocks.size());
  }
  Ends ends{at(first), at(first + 2)};
  deallocate(at(first + 1));
  list.blocks.erase(list.blocks.begin() + first, list.blocks.begin() + first + 3);
  trim(0);
  const auto free_ends = [](void* context, std::size_t) {
    Ends& both = *static_cast<Ends*>(context);
    const bool has = both.low != nullptr;
    deallocate(both.low);
    deallocate(both.high);
    both = {};
    return has ? 1 : 0;
  };
  ASSERT_EQ(corbel_on_limit(free_ends, &ends), 0);
  ASSERT_EQ(corbel_set_heap_hard_limit(footprint.bytes() + 15 * kUnit), 0);
  EXPECT_TRUE(list.add(20 * kUnit));
  EXPECT_EQ(ends.low, nullptr);
}

TEST_F(HeapLimitTest, ARequestAboveTheLimitDoesNotEmptyTheCaches) {
  List list;
  ASSERT_TRUE(list.add(5 * kMib));
  list.clear();
  const std::size_t before = footprint.bytes();
  ASSERT_EQ(corbel_set_heap_hard_limit(before + 5 * kMib), 0);
  EXPECT_FALSE(list.add(before + 10 * kMib));
  EXPECT_EQ(footprint.bytes(), before);
}

// Each thread runs inside the one before it, so that none finds a heap that has been used.
void ask_in_new_threads(const Larder& larder, std::size_t room) {
  if (room > 4 * kUnit) return;
  std::thread([&larder, room] {
    const int calls = larder.calls;
    EXPECT_EQ(corbel_set_heap_hard_limit(footprint.bytes() + room), 0);
    void* block = allocate(100);
    EXPECT_TRUE(block != nullptr || larder.calls != calls) << room;
    deallocate(block);
    ask_in_new_threads(larder, room + 500);
  }).join();
}

TEST_F(HeapLimitTest, TheCallbackIsCalledForAThreadsFirstBlockToo) {
  Larder larder;
  larder.answer = 0;
  ASSERT_EQ(corbel_on_limit(give_from, &larder), 0);
  ask_in_new_threads(larder, 1000);
  EXPECT_GT(larder.calls, 0);
}

TEST_F(HeapLimitTest, TheSoftLimitNeverRefusesAndReclaimsRarely) {
  for (std::size_t size : {100, 3000, 50000, 300000}) {
    const LimitFigures before = heap_limit.figures();
    const std::size_t limit = footprint.bytes() + 5 * kMib;
    ASSERT_EQ(corbel_set_heap_limit(limit), 0);
    List list;
    for (std::size_t i = 0; i * size < 50 * kMib; ++i) ASSERT_TRUE(list.add(size));
    const LimitFigures after = heap_limit.figures();
    EXPECT_EQ(after.soft, limit);
    EXPECT_GT(after.max_excess, 44 * kMib);
    // Each reclaim is for a hundredth of the limit, for 256 KiB, or for one block.
    EXPECT_LE(after.reclaims - before.reclaims, 60 * kMib / std::max<std::size_t>(size, 256 << 10));
    EXPECT_GE(after.episodes - before.episodes, 1U);
    // Just above the limit, one purged page may end an episode.
    EXPECT_LE(after.episodes - before.episodes, 3U);
    list.clear();
    trim(0);
    EXPECT_LE(footprint.bytes(), limit);
    ASSERT_EQ(corbel_set_heap_limit(0), 0);
  }
}

TEST_F(HeapLimitTest, AnExceededLimitHoldsAgainOnceTheFootprintIsBelowIt) {
  const std::size_t limit = footprint.bytes() + 20 * kMib;
  ASSERT_EQ(corbel_set_heap_limit(limit), 0);
  const std::size_t episodes = heap_limit.figures().episodes;
  for (int round = 1; round <= 3; ++round) {
    List list;
    while (list.blocks.size() < 100000) list.add(1000);
    EXPECT_GE(heap_limit.figures().episodes - episodes, static_cast<std::size_t>(round));
    list.clear();
    trim(0);
    for (int i = 0; i < 18; ++i) list.add(kMib - 4096);
    list.clear();
    for (int i = 0; i < 5; ++i) list.add(3 * kMib);
    EXPECT_LE(footprint.bytes(), limit);
  }
}

TEST_F(HeapLimitTest, FreeMemoryGoesBackBeforeTheSoftLimitIsExceeded) {
  const std::size_t limit = footprint.bytes() + 24 * kMib;
  ASSERT_EQ(corbel_set_heap_limit(limit), 0);
  const std::size_t episodes = heap_limit.figures().episodes;
  for (std::size_t size : {32, 3000, 600, 50000, 100, 300000, 4000000, 30000, 1000000, 48}) {
    List list;
    for (std::size_t i = 0; i * size < 19 * kMib; ++i) list.add(size);
    EXPECT_LE(footprint.bytes(), limit) << size;
    // The holes between blocks in use are too small to be unmapped.
    EXPECT_LE(stats().mapped, limit + 6 * kMib) << size;
  }
  EXPECT_EQ(heap_limit.figures().episodes, episodes);
}

TEST_F(HeapLimitTest, ALowerLimitTakesEffectAtOnce) {
  List list;
  for (int i = 0; i < 300; ++i) list.add(100000);
  for (int i = 0; i < 30000; ++i) list.add(1000);
  const std::size_t full = footprint.bytes();
  list.clear();
  EXPECT_GT(footprint.bytes(), full / 2);
  ASSERT_EQ(corbel_set_heap_limit(full / 8), 0);
  EXPECT_LE(footprint.bytes(), full / 8);
}

TEST_F(HeapLimitTest, LimitsCanBeLiftedAndSetAgain) {
  for (int round = 0; round < 5; ++round) {
    const std::size_t limit = footprint.bytes() + 8 * kMib;
    List list;
    ASSERT_EQ(corbel_set_heap_hard_limit(limit), 0);
    list.fill(3000);
    EXPECT_LE(footprint.bytes(), limit);
    ASSERT_EQ(corbel_set_heap_hard_limit(0), 0);
    for (int i = 0; i < 10000; ++i) ASSERT_TRUE(list.add(3000));
    ASSERT_EQ(corbel_set_heap_hard_limit(limit), 0);
    EXPECT_FALSE(list.add(10 * kMib));
    list.clear();
    ASSERT_TRUE(list.add(6 * kMib));
    ASSERT_EQ(corbel_set_heap_hard_limit(0), 0);
  }
}

TEST_F(HeapLimitTest, BothLimitsTogether) {
  const std::size_t start = footprint.bytes();
  ASSERT_EQ(corbel_set_heap_limit(start + 4 * kMib), 0);
  ASSERT_EQ(corbel_set_heap_hard_limit(start + 12 * kMib), 0);
  List list;
  EXPECT_GT(list.fill(1000) * 1000, 10 * kMib);
  EXPECT_LE(footprint.bytes(), start + 12 * kMib);
}

}  // namespace
}  // namespace corbel::alloc
