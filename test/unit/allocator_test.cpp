// SPDX-License-Identifier: Apache-2.0
// The whole allocator through its internal interface, on the fake operating system, which counts
// calls and mapped bytes: slabs and their lists, realloc in place, blocks known to be zero, blocks
// of threads that have ended.
#include "alloc/allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "alloc/heap/fast_path.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/map/size_class.hpp"
#include "alloc/policy/helper.hpp"
#include "alloc/policy/reclaim.hpp"
#include "os/fake/fake.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

std::size_t resident_pages() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long size = 0;
  unsigned long resident = 0;
  EXPECT_EQ(std::fscanf(file, "%lu %lu", &size, &resident), 2);
  std::fclose(file);
  return resident;
}

class AllocatorTest : public testing::Test {
 protected:
  void SetUp() override {
    trim(0);
    live_before_ = stats().live;
  }
  void TearDown() override {
    trim(0);
    EXPECT_EQ(stats().live, live_before_) << "the test leaked a block, or the allocator lost one";
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }

 private:
  std::size_t live_before_ = 0;
};

TEST_F(AllocatorTest, SizeZeroGivesDistinctBlocks) {
  void* a = allocate(0);
  void* b = allocate(0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  deallocate(a);
  deallocate(b);
  void* c = allocate_zeroed(0, 10);
  EXPECT_NE(c, nullptr);
  deallocate(c);
}

// A thread that only frees must wake the parked helper thread on every path of free but the fast
// one: it may never allocate, and so never purge.
TEST_F(AllocatorTest, EverySlowPathOfFreeWakesTheParkedHelper) {
  const auto wakes = [](void* block) {
    helper_word.store(std::uint32_t(Helper::kParked));
    deallocate(block);
    return helper_word.exchange(std::uint32_t(Helper::kNone)) == std::uint32_t(Helper::kAwake);
  };
  ASSERT_EQ(helper_state(), Helper::kNone);
  const unsigned small = class_of(100);
  // Two slabs, so that the first is full. The free of its second block takes the fast path.
  std::vector<void*> blocks;
  for (std::uint32_t i = 0; i <= kSizeClasses[small].capacity; ++i) blocks.push_back(allocate(100));
  EXPECT_TRUE(wakes(blocks[0]));
  EXPECT_FALSE(wakes(blocks[1]));
  for (std::size_t i = 2; i < blocks.size(); ++i) deallocate(blocks[i]);

  const std::size_t medium = kMediumMax;
  ASSERT_GT(kSizeClasses[class_of(medium)].units, 1U);
  void* in_later_unit = allocate(medium);
  void* other = allocate(medium);
  if (find_span(in_later_unit)->tag() != span_tag::kFollower) std::swap(in_later_unit, other);
  ASSERT_EQ(find_span(in_later_unit)->tag(), span_tag::kFollower);
  EXPECT_TRUE(wakes(in_later_unit));
  deallocate(other);

  EXPECT_TRUE(wakes(allocate(1 << 20)));

  void* first_of_others = nullptr;
  std::thread maker([&] { first_of_others = allocate(100); });
  maker.join();
  EXPECT_TRUE(wakes(first_of_others));
}

// On memory that is not resident; the pages that a large block leaves out may be part of it if they
// are.
TEST_F(AllocatorTest, UsableSizeIsTheClassOrWholePages) {
  constexpr std::size_t kMaxByPages = 17 * kUnit;
  for (std::size_t size = 0; size < 4000000; size += size < 2000 ? 1 : 2997) {
    if (size > kMediumMax) trim(0);
    void* block = allocate(size);
    const std::size_t expected = size <= kMediumMax
                                     ? kSizeClasses[class_of(size)].block_size
                                     : align_up(size, size <= kMaxByPages ? 4096 : kUnit);
    ASSERT_EQ(usable_size(block), expected) << size;
    if (size > 16384) {
      ASSERT_LE(expected, std::max(size + 4095, size * 106 / 100)) << size;
    }
    ASSERT_TRUE(owns(block));
    deallocate(block);
  }
  EXPECT_EQ(usable_size(nullptr), 0U);
  int local = 0;
  EXPECT_EQ(usable_size(&local), 0U);
  EXPECT_FALSE(owns(&local));
}

TEST_F(AllocatorTest, ImpossibleSizesAreRefused) {
  for (std::size_t size : {SIZE_MAX, SIZE_MAX - 4096, std::size_t(PTRDIFF_MAX) + 1,
                           std::size_t(PTRDIFF_MAX), std::size_t{1} << 50}) {
    errno = 0;
    EXPECT_EQ(allocate(size), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(allocate_aligned(size, 4096), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(allocate_zeroed(size / 8 + 1, 16), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM);
  }
  errno = 0;
  EXPECT_EQ(allocate_aligned(1, std::size_t{1} << 62), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(allocate_zeroed(SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(AllocatorTest, AlignmentsOfAllSizes) {
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30; alignment *= 4) {
    for (std::size_t size : {0, 1, 8, 100, 1024, 5000, 70000, 300000}) {
      void* block = allocate_aligned(size, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(address(block) % alignment, 0U) << size << " at " << alignment;
      EXPECT_GE(usable_size(block), size);
      std::memset(block, 1, size);
      deallocate(block);
    }
  }
}

TEST_F(AllocatorTest, BlocksOfASlabDoNotOverlapAndFillIt) {
  for (std::size_t size : {8, 16, 48, 1024, 1280, 40960}) {
    const SizeClass& layout = kSizeClasses[class_of(size)];
    std::vector<std::uintptr_t> blocks;
    for (std::uint32_t i = 0; i < 3 * layout.capacity; ++i) {
      blocks.push_back(address(allocate(size)));
    }
    std::sort(blocks.begin(), blocks.end());
    std::set<std::uintptr_t> slabs;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_GE(blocks[i] - (i > 0 ? blocks[i - 1] : 0), layout.block_size);
      const Span* span = find_span(pointer_to(blocks[i]));
      if (span->tag() == span_tag::kFollower) span -= span->head_distance;
      slabs.insert(address(span));
    }
    // Three full slabs. The gaps of an older one may have supplied the first few blocks.
    EXPECT_LE(slabs.size(), 4U) << size;
    for (std::uintptr_t block : blocks) deallocate(pointer_to(block));
  }
}

TEST_F(AllocatorTest, EmptySlabsAreGivenBack) {
  const std::size_t mapped = stats().mapped - stats().free_resident - stats().free_purged;
  std::vector<void*> blocks;
  for (int i = 0; i < 100000; ++i) blocks.push_back(allocate(200));
  for (void* block : blocks) deallocate(block);
  trim(0);
  EXPECT_LE(stats().mapped - stats().free_resident - stats().free_purged, mapped + (1U << 20));
  EXPECT_EQ(stats().free_resident, 0U) << "trim(0) left resident free spans";
}

// A slab of several units counts towards the limit of empty slabs, but not while its bin is in use.
TEST_F(AllocatorTest, AMediumBlockKeepsItsSlabWhileASmallOneIsEmpty) {
  std::vector<void*> small;
  for (int i = 0; i < 5000; ++i) small.push_back(allocate(64));
  for (void* block : small) deallocate(block);
  const auto in_use = [] {
    const Stats s = stats();
    return s.mapped - s.free_resident - s.free_purged;
  };
  std::size_t units = 0;
  for (std::size_t size : {40000, 50000, 70000, 90000, 100000, 120000}) {
    const SizeClass& layout = kSizeClasses[class_of(size)];
    ASSERT_GT(layout.units, 1U) << "a slab of one unit does not count";
    units += layout.units;
    // On the first round the slabs of the other sizes may have to be given back.
    deallocate(allocate(size));
    void* first = allocate(size);
    const std::size_t held = in_use();
    const std::size_t map_calls = stats().map_calls;
    deallocate(first);
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(in_use(), held) << "the slab was given back with its only block of " << size;
      void* block = allocate(size);
      ASSERT_EQ(block, first);
      deallocate(block);
    }
    EXPECT_EQ(stats().map_calls, map_calls);
  }
  EXPECT_GT(units, 16U) << "too few units for one slab to displace another";
  EXPECT_LE(this_heap->empty_units, 16U);
}

TEST_F(AllocatorTest, ReallocStaysWhereThereIsRoom) {
  void* block = allocate(1000);
  EXPECT_EQ(reallocate(block, 1024), block) << "the size class has room";
  EXPECT_EQ(reallocate(block, 600), block) << "more than half of the block is used";
  deallocate(block);

  block = allocate(10 << 20);
  EXPECT_EQ(reallocate(block, 4 << 20), block) << "a large block shrinks in place";
  EXPECT_LE(usable_size(block), (4U << 20) + kUnit);
  EXPECT_EQ(reallocate(block, 9 << 20), block) << "and grows into the space it gave up";
  deallocate(block);
}

TEST_F(AllocatorTest, ReallocGivesMemoryBack) {
  void* block = allocate(100000);
  block = reallocate(block, 10);
  EXPECT_LT(usable_size(block), 100U);
  deallocate(block);
  block = allocate(10 << 20);
  block = reallocate(block, 100);
  EXPECT_LT(usable_size(block), 1000U);
  deallocate(block);
}

TEST_F(AllocatorTest, ReallocOfNullAndToNothing) {
  void* block = reallocate(nullptr, 50);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reallocate(block, 0), nullptr);
  block = reallocate_aligned(nullptr, 50, 4096);
  EXPECT_EQ(address(block) % 4096, 0U);
  block = reallocate_aligned(block, 100000, 8192);
  EXPECT_EQ(address(block) % 8192, 0U);
  deallocate(block);
}

TEST_F(AllocatorTest, AFailedReallocKeepsTheBlock) {
  char* block = static_cast<char*>(allocate(5000));
  std::memset(block, 'x', 5000);
  errno = 0;
  EXPECT_EQ(reallocate(block, SIZE_MAX - 100), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(block[4999], 'x');
  deallocate(block);
}

TEST_F(AllocatorTest, GrowingALargeBlockMovesPagesInsteadOfBytes) {
  const std::uint64_t moves = os::fake::figures().move_calls;
  char* block = static_cast<char*>(allocate(4 << 20));
  std::memset(block, 'x', 4 << 20);
  void* wall = allocate(1 << 20);
  block = static_cast<char*>(reallocate(block, 40 << 20));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(std::count(block, block + (4 << 20), 'x'), 4 << 20);
  void* other = reallocate(block, 80 << 20);
  EXPECT_GT(os::fake::figures().move_calls, moves);
  deallocate(wall);
  deallocate(other);
}

// A block of megabytes fresh from the system is known to be zero. Clearing it would make its pages
// resident.
TEST_F(AllocatorTest, CallocDoesNotTouchFreshMemory) {
  constexpr std::size_t kSize = 48U << 20;
  char* block = static_cast<char*>(allocate_zeroed(kSize, 1));
  ASSERT_NE(block, nullptr);
  const std::size_t resident = resident_pages();
  std::memset(block, 1, kSize);
  const std::size_t resident_touched = resident_pages();
  EXPECT_GT(resident_touched, resident + kSize / 4096 / 2);
  deallocate(block);
}

TEST_F(AllocatorTest, CallocClearsUsedMemory) {
  for (std::size_t size : {1, 16, 1024, 1025, 3000, 70000, 200000, 3000000}) {
    for (int round = 0; round < 3; ++round) {
      void* used = allocate(size);
      std::memset(used, 0xee, size);
      deallocate(used);
      const auto* block = static_cast<unsigned char*>(allocate_zeroed(1, size));
      EXPECT_EQ(std::count(block, block + size, 0), std::ptrdiff_t(size)) << size;
      deallocate(const_cast<unsigned char*>(block));
    }
  }
}

TEST_F(AllocatorTest, BlocksOutliveTheirThreadAndTheirSlabsAreAdopted) {
  std::vector<char*> blocks;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) {
      blocks.push_back(static_cast<char*>(allocate(500)));
      blocks.back()[499] = 'x';
    }
  }).join();
  const std::size_t slabs_before = stats().mapped - stats().free_resident - stats().free_purged;
  for (std::size_t i = 0; i < blocks.size(); i += 2) deallocate(blocks[i]);
  // The gaps serve another thread's requests.
  std::vector<void*> more;
  std::thread([&] {
    for (int i = 0; i < 400; ++i) more.push_back(allocate(500));
  }).join();
  EXPECT_LE(stats().mapped - stats().free_resident - stats().free_purged, slabs_before + 2 * kUnit);
  for (std::size_t i = 1; i < blocks.size(); i += 2) {
    EXPECT_EQ(blocks[i][499], 'x');
    deallocate(blocks[i]);
  }
  for (void* block : more) deallocate(block);
}

// Blocks that another thread freed return to their owner through malloc alone.
TEST_F(AllocatorTest, RemoteFreesComeBack) {
  const auto round = [] {
    std::vector<void*> blocks;
    for (int i = 0; i < 20000; ++i) blocks.push_back(allocate(128));
    std::thread([&] {
      for (void* block : blocks) deallocate(block);
    }).join();
  };
  round();
  const std::size_t mapped = stats().mapped;
  for (int i = 0; i < 10; ++i) round();
  EXPECT_LE(stats().mapped, mapped + (4U << 20));
}

TEST_F(AllocatorTest, FiguresAddUp) {
  void* large = allocate(1 << 20);
  std::vector<void*> small;
  for (int i = 0; i < 1000; ++i) small.push_back(allocate(100));
  const Stats s = stats();
  EXPECT_EQ(s.large_count, 1U);
  EXPECT_EQ(s.large_live, 1U << 20);
  EXPECT_GE(s.live, (1U << 20) + 100000);
  EXPECT_LE(s.live + s.free_resident + s.free_purged, s.mapped);
  EXPECT_GE(s.threads, 1U);
  EXPECT_EQ(s.mapped + s.metadata_mapped, os::fake::figures().mapped_bytes);
  for (void* block : small) deallocate(block);
  deallocate(large);
}

TEST_F(AllocatorTest, TrimKeepsWhatItIsAskedToKeep) {
  deallocate(std::memset(allocate(8 << 20), 1, 8 << 20));
  EXPECT_GT(stats().free_resident, 4U << 20);
  trim(SIZE_MAX);
  EXPECT_GT(stats().free_resident, 4U << 20);
  EXPECT_GE(trim(0), 4U << 20);
  EXPECT_EQ(stats().free_resident, 0U);
  EXPECT_EQ(trim(0), 0U);
}

// ---- blocks that other threads free ------------------------------------------------------------

// Another thread frees all blocks of some slabs in the order that `order` gives. Then the owner
// must get as many blocks from these slabs again, each exactly once.
void expect_all_come_back(std::size_t size, std::size_t (*order)(std::size_t i, std::size_t n)) {
  const SizeClass& layout = kSizeClasses[class_of(size)];
  const std::size_t count = std::min<std::size_t>(3 * layout.capacity, 9000);
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(std::memset(allocate(size), 1, size));
  std::thread([&] {
    for (std::size_t i = 0; i < count; ++i) deallocate(blocks[order(i, count)]);
  }).join();
  const std::size_t slabs = stats().classes[class_of(size)].slabs;
  std::set<void*> again;
  for (std::size_t i = 0; i < count; ++i) again.insert(std::memset(allocate(size), 2, size));
  EXPECT_EQ(again.size(), count) << size;
  EXPECT_EQ(stats().classes[class_of(size)].slabs, slabs) << size;
  for (void* block : again) deallocate(block);
}

TEST_F(AllocatorTest, BlocksThatAnotherThreadFreedComeBack) {
  for (const std::size_t size : {8, 16, 24, 48, 1000, 5000, 20000, 100000}) {
    expect_all_come_back(size, [](std::size_t i, std::size_t) { return i; });
    expect_all_come_back(size, [](std::size_t i, std::size_t n) { return n - 1 - i; });
    // Alternate between the slabs, so that batches are as short as possible.
    expect_all_come_back(size, [](std::size_t i, std::size_t n) {
      const std::size_t third = (n + 2) / 3;
      std::size_t at = 0;
      for (std::size_t part = i % 3, before = 0; before < part; ++before) {
        at += std::min(third, n - at);
      }
      return n % 3 == 0 ? at + i / 3 : i;
    });
  }
}

TEST(AllocatorDeathTest, ABatchThatBeginsWithADoubleFreeIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::size_t size : {8, 48}) {
    for (const std::size_t before : {0, 1, 5}) {
      EXPECT_DEATH(
          {
            std::vector<void*> blocks;
            for (std::size_t i = 0; i <= before; ++i) blocks.push_back(allocate(size));
            std::thread([=] {
              for (void* block : blocks) deallocate(block);
              deallocate(blocks.back());
            }).join();
          },
          "corbel: free: the block was freed twice")
          << size << " bytes, after " << before << " others";
    }
  }
}

// A double free makes the batch circular.
TEST(AllocatorDeathTest, ABatchWithADoubleFreeIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        void* a = allocate(8);
        void* b = allocate(8);
        std::thread([=] {
          deallocate(a);
          deallocate(b);
          deallocate(a);
        }).join();
        for (int i = 0; i < 2000; ++i) allocate(8);
      },
      "corbel: free: the block was freed twice");
}

TEST(AllocatorDeathTest, AListThatLeadsInACircleIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        void* a = allocate(40);
        void* b = allocate(40);
        deallocate(a);
        deallocate(b);
        deallocate(a);
        while (allocate(40) != a) {
        }
        flush_thread(this_heap);
      },
      "corbel: free: the list of free blocks leads in a circle");
}

// Fill the outbox with batches of one block, each of another slab. The last one makes it send all.
TEST_F(AllocatorTest, AnOutboxThatIsFullOfBatchesIsSent) {
  constexpr std::size_t kSize = 256;
  const std::size_t capacity = kSizeClasses[class_of(kSize)].capacity;
  flush_thread(this_heap);
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < Outbox::kBatches * capacity; ++i) blocks.push_back(allocate(kSize));
  std::thread([&] {
    for (std::uint32_t i = 0; i < Outbox::kBatches; ++i) {
      deallocate(allocate(1));
      EXPECT_EQ(this_heap->outbox.batch_count, i);
      deallocate(blocks[i * capacity]);
    }
    EXPECT_EQ(this_heap->outbox.batch_count, 0U);
    EXPECT_EQ(this_heap->outbox.bytes, 0U);
  }).join();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % capacity != 0) deallocate(blocks[i]);
  }
}

// ---- pages committed in groups ----------------------------------------------------------------

TEST_F(AllocatorTest, AGrowingClassCommitsOnlyAFewPagesAhead) {
  std::vector<void*> blocks;
  blocks.reserve(1 << 16);
  deallocate(allocate(64));
  const std::size_t before = stats().footprint;
  for (std::size_t bytes = 64; bytes < std::size_t(2) << 20; bytes += 64) {
    blocks.push_back(allocate(64));
    EXPECT_LE(stats().footprint - before, bytes + bytes / 16 + 3 * os::page_size()) << bytes;
  }
  for (void* block : blocks) deallocate(block);
}

// Takes 64 blocks, writes the first `written` bytes of each, and returns how many blocks had their
// last page resident when the request returned.
std::size_t count_resident(std::size_t size, std::size_t written) {
  const std::size_t last = kSizeClasses[class_of(size) - 1].block_size;
  std::size_t resident = 0;
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) {
    blocks.push_back(allocate(size));
    const std::uintptr_t end = address(blocks.back()) + last;
    if (os::is_resident(pointer_to(align_down(end, os::page_size())))) ++resident;
    std::memset(blocks.back(), 1, written);
  }
  for (void* block : blocks) deallocate(block);
  trim(0);
  return resident;
}

TEST_F(AllocatorTest, LargerBlocksArePopulatedWhereTheProgramWritesToThem) {
  const std::size_t page = os::page_size();
  void* probe = os::map(kUnit, kUnit, nullptr);
  ASSERT_NE(probe, nullptr);
  EXPECT_FALSE(os::is_resident(probe));
  os::populate(probe, kUnit);
  const bool can_populate = os::is_resident(probe);  // false before Linux 5.14
  os::unmap(probe, kUnit);
  for (std::size_t size = 3 * page; size < kMediumMax; size += 1000) {
    EXPECT_EQ(count_resident(size, 0), 0U) << size;
    EXPECT_EQ(count_resident(size, 100), 0U) << size;
    if (can_populate) {
      EXPECT_GE(count_resident(size, size), 24U) << size;
    }
  }
}

// ---- realloc of large blocks -------------------------------------------------------------------

TEST_F(AllocatorTest, ALargeBlockIsCopiedToResidentPages) {
  const auto grow = [] {
    void* block = std::memset(allocate(600 << 10), 1, 600 << 10);
    void* wall = allocate(600 << 10);
    block = reallocate(block, 1200 << 10);
    static_cast<char*>(block)[(1200 << 10) - 1] = 1;
    EXPECT_EQ(static_cast<char*>(block)[(600 << 10) - 1], 1);
    std::memset(block, 1, 1200 << 10);
    deallocate(wall);
    deallocate(block);
  };
  grow();
  const std::uint64_t moves = os::fake::figures().move_calls;
  grow();
  EXPECT_EQ(os::fake::figures().move_calls, moves)
      << "the freed pages are resident, so copying is cheaper than moving";
}

}  // namespace
}  // namespace corbel::alloc
