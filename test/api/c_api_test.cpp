// SPDX-License-Identifier: Apache-2.0
// Tests the scalable_* functions sentence by sentence, as <corbel/malloc.h> documents them.
#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kImpossible = static_cast<std::size_t>(PTRDIFF_MAX) - 4096;
constexpr std::size_t kTooLarge = static_cast<std::size_t>(PTRDIFF_MAX) + 1;

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

const std::size_t kSizes[] = {0,     1,     7,      8,       9,       16,      17,
                              48,    100,   1000,   4096,    8128,    8129,    16384,
                              32768, 65536, 131071, 1 << 20, 3 << 20, 40 << 20};

TEST(Version, IsThreeNumbers) {
  const std::string version = corbel_version();
  int major = -1, minor = -1, patch = -1;
  char rest = 0;
  EXPECT_EQ(std::sscanf(version.c_str(), "%d.%d.%d%c", &major, &minor, &patch, &rest), 3);
}

TEST(Malloc, GivesAlignedBlocksOfEverySize) {
  for (std::size_t size : kSizes) {
    void* p = scalable_malloc(size);
    ASSERT_NE(p, nullptr) << size;
    EXPECT_TRUE(aligned(p, size <= 8 ? 8 : 16)) << size;
    EXPECT_GE(scalable_msize(p), size);
    std::memset(p, 0x5a, size);
    EXPECT_TRUE(all_bytes(p, size, 0x5a)) << size;
    scalable_free(p);
  }
}

TEST(Malloc, BlocksDoNotOverlap) {
  std::vector<unsigned char*> blocks;
  for (int i = 0; i < 3000; ++i) {
    unsigned char* p = static_cast<unsigned char*>(scalable_malloc(33));
    std::memset(p, i % 251, 33);
    blocks.push_back(p);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(all_bytes(blocks[i], 33, static_cast<int>(i % 251)));
    scalable_free(blocks[i]);
  }
}

TEST(Malloc, SizeZeroGivesUniqueBlocks) {
  std::set<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.insert(scalable_malloc(0));
  EXPECT_EQ(blocks.size(), 100U);
  EXPECT_EQ(blocks.count(nullptr), 0U);
  for (void* p : blocks) scalable_free(p);
}

TEST(Malloc, ExhaustionIsNullAndEnomem) {
  for (std::size_t size : {kImpossible, kTooLarge, SIZE_MAX - 64, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(scalable_malloc(size), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM) << size;
  }
}

TEST(Free, NullIsIgnoredAndErrnoKept) {
  errno = 4321;
  scalable_free(nullptr);
  scalable_aligned_free(nullptr);
  EXPECT_EQ(errno, 4321);
}

TEST(Free, KeepsErrno) {
  for (std::size_t size : kSizes) {
    void* p = scalable_malloc(size);
    errno = 4321;
    scalable_free(p);
    EXPECT_EQ(errno, 4321) << size;
  }
}

TEST(Free, WorksFromAnotherThread) {
  std::vector<void*> blocks;
  for (int i = 0; i < 10000; ++i) blocks.push_back(scalable_malloc(static_cast<std::size_t>(i)));
  std::thread([&] {
    for (void* p : blocks) scalable_free(p);
  }).join();
  void* p = scalable_malloc(64);
  EXPECT_NE(p, nullptr);
  scalable_free(p);
}

TEST(Realloc, OfNullAllocates) {
  void* p = scalable_realloc(nullptr, 100);
  ASSERT_NE(p, nullptr);
  EXPECT_GE(scalable_msize(p), 100U);
  scalable_free(p);
}

TEST(Realloc, ToZeroFreesAndGivesNull) {
  EXPECT_EQ(scalable_realloc(scalable_malloc(100), 0), nullptr);
}

TEST(Realloc, KeepsTheContents) {
  for (std::size_t from : kSizes) {
    for (std::size_t to : kSizes) {
      if (from == 0 || to == 0) continue;
      void* p = scalable_malloc(from);
      std::memset(p, 0x3c, from);
      void* q = scalable_realloc(p, to);
      ASSERT_NE(q, nullptr);
      EXPECT_TRUE(aligned(q, to <= 8 ? 8 : 16));
      EXPECT_GE(scalable_msize(q), to);
      EXPECT_TRUE(all_bytes(q, from < to ? from : to, 0x3c)) << from << " to " << to;
      scalable_free(q);
    }
  }
}

TEST(Realloc, FailureLeavesTheBlock) {
  for (std::size_t size : {std::size_t{100}, std::size_t{1} << 20}) {
    void* p = scalable_malloc(size);
    std::memset(p, 0x3c, size);
    for (std::size_t bad : {kImpossible, kTooLarge}) {
      errno = 0;
      EXPECT_EQ(scalable_realloc(p, bad), nullptr);
      EXPECT_EQ(errno, ENOMEM);
    }
    EXPECT_TRUE(all_bytes(p, size, 0x3c));
    scalable_free(p);
  }
}

TEST(Calloc, IsZeroEvenWhereMemoryWasUsed) {
  for (std::size_t size : kSizes) {
    for (int round = 0; round < 3; ++round) {
      void* p = scalable_calloc(1, size);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(all_bytes(p, size, 0)) << size;
      std::memset(p, 0xff, size);
      scalable_free(p);
    }
  }
}

TEST(Calloc, OverflowIsNullAndEnomem) {
  const struct {
    std::size_t count, size;
  } cases[] = {{SIZE_MAX, 2},
               {SIZE_MAX / 2, 3},
               {std::size_t{1} << 33, std::size_t{1} << 33},
               {kTooLarge, 1},
               {1, kImpossible}};
  for (const auto& each : cases) {
    errno = 0;
    EXPECT_EQ(scalable_calloc(each.count, each.size), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
}

TEST(PosixMemalign, AlignsToEveryPowerOfTwo) {
  for (std::size_t alignment = sizeof(void*); alignment <= 64 << 20; alignment *= 2) {
    for (std::size_t size : {std::size_t{1}, std::size_t{200}, std::size_t{70000}}) {
      void* p = nullptr;
      ASSERT_EQ(scalable_posix_memalign(&p, alignment, size), 0) << alignment;
      EXPECT_TRUE(aligned(p, alignment)) << alignment;
      EXPECT_GE(scalable_msize(p), size);
      std::memset(p, 1, size);
      scalable_free(p);
    }
  }
}

TEST(PosixMemalign, SizeZeroGivesABlock) {
  void* p = nullptr;
  ASSERT_EQ(scalable_posix_memalign(&p, 64, 0), 0);
  EXPECT_NE(p, nullptr);
  scalable_free(p);
}

TEST(PosixMemalign, BadAlignmentIsEinvalAndLeavesThePointer) {
  int mark = 0;
  for (std::size_t alignment : {0U, 1U, 2U, 4U, 7U, 24U, 100U, 4097U}) {
    void* p = &mark;
    EXPECT_EQ(scalable_posix_memalign(&p, alignment, 64), EINVAL) << alignment;
    EXPECT_EQ(p, &mark);
  }
}

TEST(PosixMemalign, ExhaustionIsEnomemAndLeavesThePointer) {
  int mark = 0;
  for (std::size_t size : {kImpossible, kTooLarge, SIZE_MAX}) {
    void* p = &mark;
    EXPECT_EQ(scalable_posix_memalign(&p, 64, size), ENOMEM);
    EXPECT_EQ(p, &mark);
  }
}

TEST(AlignedMalloc, AlignsToEveryPowerOfTwo) {
  for (std::size_t alignment = 1; alignment <= 64 << 20; alignment *= 2) {
    void* p = scalable_aligned_malloc(100, alignment);
    ASSERT_NE(p, nullptr) << alignment;
    EXPECT_TRUE(aligned(p, alignment)) << alignment;
    std::memset(p, 1, 100);
    scalable_aligned_free(p);
  }
}

TEST(AlignedMalloc, ServesOneGigabyteOfAlignment) {
  void* p = scalable_aligned_malloc(100, std::size_t{1} << 30);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(aligned(p, std::size_t{1} << 30));
  scalable_aligned_free(p);
}

TEST(AlignedMalloc, BadArgumentsAreNullAndEinval) {
  const struct {
    std::size_t size, alignment;
  } cases[] = {{100, 0}, {100, 3}, {100, 48}, {0, 16}, {0, 0}};
  for (const auto& each : cases) {
    errno = 0;
    EXPECT_EQ(scalable_aligned_malloc(each.size, each.alignment), nullptr);
    EXPECT_EQ(errno, EINVAL) << each.size << ' ' << each.alignment;
  }
}

TEST(AlignedMalloc, ExhaustionIsNullAndEnomem) {
  for (std::size_t size : {kImpossible, kTooLarge, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(scalable_aligned_malloc(size, 4096), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  errno = 0;
  EXPECT_EQ(scalable_aligned_malloc(100, kTooLarge), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(AlignedRealloc, KeepsContentsAndAlignment) {
  const std::size_t alignments[] = {8, 64, 4096, 1 << 20};
  for (std::size_t from : alignments) {
    for (std::size_t to : alignments) {
      for (std::size_t size : {std::size_t{30}, std::size_t{5000}, std::size_t{3} << 20}) {
        void* p = scalable_aligned_malloc(1000, from);
        std::memset(p, 0x77, 1000);
        void* q = scalable_aligned_realloc(p, size, to);
        ASSERT_NE(q, nullptr);
        EXPECT_TRUE(aligned(q, to));
        EXPECT_TRUE(all_bytes(q, size < 1000 ? size : 1000, 0x77));
        scalable_aligned_free(q);
      }
    }
  }
}

TEST(AlignedRealloc, OfNullAllocatesAndToZeroFrees) {
  void* p = scalable_aligned_realloc(nullptr, 100, 256);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(aligned(p, 256));
  EXPECT_EQ(scalable_aligned_realloc(p, 0, 256), nullptr);
}

TEST(AlignedRealloc, TakesBlocksOfMalloc) {
  void* p = scalable_malloc(100);
  std::memset(p, 0x11, 100);
  p = scalable_aligned_realloc(p, 200, 1024);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(aligned(p, 1024));
  EXPECT_TRUE(all_bytes(p, 100, 0x11));
  scalable_free(p);
}

// The smallest sizes have classes with less than 16 bytes of alignment.
TEST(AlignedRealloc, AlignsEverySmallSize) {
  std::vector<void*> blocks;
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (std::size_t size = 1; size <= 64; ++size) {
      // Hold several of each: one may be aligned by chance.
      for (int i = 0; i < 3; ++i) {
        void* fresh = scalable_aligned_realloc(nullptr, size, alignment);
        ASSERT_NE(fresh, nullptr);
        EXPECT_TRUE(aligned(fresh, alignment)) << size << " at " << alignment;
        blocks.push_back(fresh);
        for (std::size_t from : {std::size_t{1}, std::size_t{64}, std::size_t{5000}}) {
          void* moved = scalable_malloc(from);
          std::memset(moved, 0x44, from);
          moved = scalable_aligned_realloc(moved, size, alignment);
          ASSERT_NE(moved, nullptr);
          EXPECT_TRUE(aligned(moved, alignment)) << from << " to " << size << " at " << alignment;
          EXPECT_TRUE(all_bytes(moved, from < size ? from : size, 0x44));
          blocks.push_back(moved);
        }
      }
    }
  }
  for (void* p : blocks) scalable_aligned_free(p);
}

TEST(AlignedRealloc, BadAlignmentIsEinvalAndLeavesTheBlock) {
  void* p = scalable_aligned_malloc(100, 64);
  std::memset(p, 0x22, 100);
  for (std::size_t alignment : {0U, 3U, 48U}) {
    errno = 0;
    EXPECT_EQ(scalable_aligned_realloc(p, 200, alignment), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_TRUE(all_bytes(p, 100, 0x22));
  errno = 0;
  EXPECT_EQ(scalable_aligned_realloc(p, kImpossible, 64), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(all_bytes(p, 100, 0x22));
  scalable_aligned_free(p);
}

TEST(Msize, IsZeroForForeignPointers) {
  int on_stack = 0;
  static int in_data = 0;
  EXPECT_EQ(scalable_msize(nullptr), 0U);
  EXPECT_EQ(scalable_msize(&on_stack), 0U);
  EXPECT_EQ(scalable_msize(&in_data), 0U);
}

TEST(Msize, IsZeroInsideABlock) {
  for (std::size_t size : {8, 100, 1000, 5000, 20000, 120000, 300000, 5 << 20}) {
    char* p = static_cast<char*>(scalable_malloc(size));
    const std::size_t usable = scalable_msize(p);
    ASSERT_GE(usable, size);
    for (std::size_t offset : {std::size_t{1}, size / 2, size - 1, usable - 1}) {
      errno = 0;
      EXPECT_EQ(scalable_msize(p + offset), 0U) << offset << " of " << size;
      EXPECT_EQ(errno, EINVAL);
    }
    // Also at the start of each unit that a block spans.
    for (std::size_t offset = 4096; offset < usable; offset += 4096) {
      EXPECT_EQ(scalable_msize(p + offset), 0U) << offset << " of " << size;
    }
    EXPECT_EQ(scalable_msize(p), usable);
    scalable_free(p);
  }
}

TEST(Msize, IsZeroForAFreedLargeBlock) {
  for (std::size_t size : {std::size_t{300000}, std::size_t{5} << 20, std::size_t{100} << 20}) {
    char* p = static_cast<char*>(scalable_malloc(size));
    std::memset(p, 1, 1000);
    scalable_free(p);
    errno = 0;
    EXPECT_EQ(scalable_msize(p), 0U) << size;
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(scalable_msize(p + size / 2), 0U) << size;
  }
}

TEST(Msize, EveryReportedByteIsUsable) {
  for (std::size_t size : kSizes) {
    void* p = scalable_malloc(size);
    void* q = scalable_malloc(size);
    std::memset(p, 0xaa, scalable_msize(p));
    std::memset(q, 0xbb, scalable_msize(q));
    EXPECT_TRUE(all_bytes(p, scalable_msize(p), 0xaa));
    scalable_free(p);
    scalable_free(q);
  }
}

TEST(Enums, HaveTheDocumentedValues) {
  static_assert(TBBMALLOC_OK == 0 && TBBMALLOC_INVALID_PARAM == 1 && TBBMALLOC_UNSUPPORTED == 2 &&
                    TBBMALLOC_NO_MEMORY == 3 && TBBMALLOC_NO_EFFECT == 4,
                "ScalableAllocationResult");
  static_assert(TBBMALLOC_USE_HUGE_PAGES == 0 && USE_HUGE_PAGES == 0 &&
                    TBBMALLOC_SET_SOFT_HEAP_LIMIT == 1 && TBBMALLOC_SET_HUGE_SIZE_THRESHOLD == 2,
                "AllocationModeParam");
  static_assert(TBBMALLOC_CLEAN_ALL_BUFFERS == 0 && TBBMALLOC_CLEAN_THREAD_BUFFERS == 1,
                "ScalableAllocationCmd");
}

TEST(Mode, HugePagesTakeZeroAndOneOnly) {
  for (std::intptr_t bad : {std::intptr_t{-1}, std::intptr_t{2}, std::intptr_t{1} << 40}) {
    EXPECT_EQ(scalable_allocation_mode(TBBMALLOC_USE_HUGE_PAGES, bad), TBBMALLOC_INVALID_PARAM);
  }
  const int on = scalable_allocation_mode(USE_HUGE_PAGES, 1);
  EXPECT_TRUE(on == TBBMALLOC_OK || on == TBBMALLOC_NO_EFFECT);
  const int off = scalable_allocation_mode(TBBMALLOC_USE_HUGE_PAGES, 0);
  EXPECT_TRUE(off == TBBMALLOC_OK || off == TBBMALLOC_NO_EFFECT);
}

TEST(Mode, SoftLimitDoesNotRefuse) {
  ASSERT_EQ(scalable_allocation_mode(TBBMALLOC_SET_SOFT_HEAP_LIMIT, 1 << 20), TBBMALLOC_OK);
  void* p = scalable_malloc(64 << 20);
  EXPECT_NE(p, nullptr);
  scalable_free(p);
  EXPECT_EQ(scalable_allocation_mode(TBBMALLOC_SET_SOFT_HEAP_LIMIT, 0), TBBMALLOC_OK);
}

TEST(Mode, HugeThresholdIsAccepted) {
  EXPECT_EQ(scalable_allocation_mode(TBBMALLOC_SET_HUGE_SIZE_THRESHOLD, 64 << 20), TBBMALLOC_OK);
}

TEST(Mode, UnknownModeIsInvalid) {
  for (int mode : {-1, 3, 1000}) {
    EXPECT_EQ(scalable_allocation_mode(mode, 1), TBBMALLOC_INVALID_PARAM) << mode;
  }
}

TEST(Command, BadArgumentsAreInvalid) {
  int param = 0;
  EXPECT_EQ(scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, &param),
            TBBMALLOC_INVALID_PARAM);
  EXPECT_EQ(scalable_allocation_command(TBBMALLOC_CLEAN_THREAD_BUFFERS, &param),
            TBBMALLOC_INVALID_PARAM);
  for (int command : {-1, 2, 77}) {
    EXPECT_EQ(scalable_allocation_command(command, nullptr), TBBMALLOC_INVALID_PARAM) << command;
  }
}

TEST(Command, CleaningTwiceHasNoEffect) {
  for (int command : {TBBMALLOC_CLEAN_ALL_BUFFERS, TBBMALLOC_CLEAN_THREAD_BUFFERS}) {
    std::vector<void*> blocks;
    for (int i = 0; i < 2000; ++i) blocks.push_back(scalable_malloc(100));
    for (void* p : blocks) scalable_free(p);
    EXPECT_EQ(scalable_allocation_command(command, nullptr), TBBMALLOC_OK) << command;
    EXPECT_EQ(scalable_allocation_command(command, nullptr), TBBMALLOC_NO_EFFECT) << command;
  }
}

TEST(Command, CleanAllLeavesNothingToCleanThread) {
  for (std::size_t size : {std::size_t{24}, std::size_t{3000}, std::size_t{1} << 20}) {
    std::vector<void*> blocks;
    for (int i = 0; i < 50; ++i) blocks.push_back(scalable_malloc(size));
    for (void* p : blocks) scalable_free(p);
    scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
    EXPECT_EQ(scalable_allocation_command(TBBMALLOC_CLEAN_THREAD_BUFFERS, nullptr),
              TBBMALLOC_NO_EFFECT);
    EXPECT_EQ(scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr),
              TBBMALLOC_NO_EFFECT);
  }
}

}  // namespace
