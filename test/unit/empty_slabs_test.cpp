// SPDX-License-Identifier: Apache-2.0
// The empty slabs that a heap keeps: how many, and who gets them.
#include "alloc/empty_slabs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/footprint.hpp"
#include "alloc/heap.hpp"
#include "alloc/options.hpp"
#include "alloc/page_map.hpp"
#include "alloc/reclaim.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

constexpr std::uint32_t kFew = EmptySlabs::kFew;
constexpr std::uint32_t kMost = EmptySlabs::kMost;

TEST(EmptySlabsTest, AFewAreKept) {
  EmptySlabs empties;
  EXPECT_TRUE(empties.has_room(kFew));
  EXPECT_FALSE(empties.has_room(kFew + 1));
  empties.add(kFew - 1);
  EXPECT_TRUE(empties.has_room(1));
  EXPECT_FALSE(empties.has_room(2));
  EXPECT_FALSE(empties.has_learned());
}

TEST(EmptySlabsTest, WhatIsFetchedAgainIsKeptTheNextTime) {
  EmptySlabs empties;
  empties.note_fetched(100, true);
  EXPECT_FALSE(empties.has_learned()) << "growth alone teaches nothing";
  empties.note_returned(30);
  EXPECT_TRUE(empties.has_learned());
  empties.note_fetched(20, true);
  EXPECT_TRUE(empties.has_room(kFew + 20));
  EXPECT_FALSE(empties.has_room(kFew + 21));
  empties.note_fetched(100, true);
  EXPECT_TRUE(empties.has_room(kFew + 30));
  EXPECT_FALSE(empties.has_room(kFew + 31));
  empties.forget();
  EXPECT_FALSE(empties.has_learned());
  EXPECT_FALSE(empties.has_room(kFew + 1));
}

TEST(EmptySlabsTest, NeverMoreThanTheMost) {
  EmptySlabs empties;
  empties.note_returned(10 * kMost);
  for (std::uint32_t i = 0; i < 10 * kMost; ++i) empties.note_fetched(1, true);
  EXPECT_TRUE(empties.has_room(kMost));
  EXPECT_FALSE(empties.has_room(kMost + 1));
}

TEST(EmptySlabsTest, NoMoreThanBeforeWhereItMayNot) {
  EmptySlabs empties;
  empties.note_returned(30);
  empties.note_fetched(30, false);
  EXPECT_FALSE(empties.has_room(kFew + 1));
  empties.note_fetched(30, true);
  EXPECT_FALSE(empties.has_room(kFew + 1)) << "they have been fetched";
}

TEST(EmptySlabsTest, WhatWasNeverTakenExpires) {
  EmptySlabs empties;
  empties.note_returned(100);
  empties.note_fetched(100, true);
  empties.add(kFew + 100);
  EXPECT_EQ(empties.expire(1000, 1000), 0U) << "they have only just come";
  empties.remove(40);
  empties.add(40);
  EXPECT_EQ(empties.expire(1999, 1000), 0U) << "too soon";
  EXPECT_EQ(empties.expire(2000, 1000), kFew + 60) << "the least there ever were";
  empties.remove(kFew + 60);
  EXPECT_TRUE(empties.has_room(0));
  EXPECT_FALSE(empties.has_room(17)) << "what expires is not kept again";
  EXPECT_EQ(empties.expire(3000, 1000), 40 - kFew) << "a few stay";
  EXPECT_FALSE(empties.has_learned());
}

TEST(EmptySlabsTest, TheClockMayGoRound) {
  EmptySlabs empties;
  empties.note_returned(100);
  empties.note_fetched(100, true);
  empties.add(kFew + 100);
  EXPECT_EQ(empties.expire(~0U - 10, 1000), 0U);
  EXPECT_EQ(empties.expire(900, 1000), 0U);
  EXPECT_EQ(empties.expire(989, 1000), 100U);
}

TEST(EmptySlabsTest, WhatWentBackLongAgoTeachesNothing) {
  EmptySlabs empties;
  empties.note_returned(100);
  empties.expire(5000, 1000);
  empties.note_fetched(100, true);
  EXPECT_FALSE(empties.has_room(kFew + 1));
}

// The heap of this thread, on the fake operating system.
class KeptSlabsTest : public testing::Test {
 protected:
  static constexpr std::size_t kSize = 64;
  static constexpr std::size_t kSlabs = 100;

  void SetUp() override {
    trim(0);
    options.purge_delay = 60'000;
  }
  void TearDown() override {
    options.purge_delay = 1000;
    trim(0);
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }

  // Fills a hundred slabs and frees all of it, in any order.
  void fill_and_free(std::size_t size = kSize) {
    std::vector<void*> blocks(kSlabs * kSizeClasses[class_of(size)].capacity);
    for (void*& block : blocks) block = allocate(size);
    std::shuffle(blocks.begin(), blocks.end(), random_);
    for (void* block : blocks) deallocate(block);
  }

  static std::uint32_t kept() { return this_heap->empties.units(); }

 private:
  std::mt19937 random_{1};
};

TEST_F(KeptSlabsTest, AHeapKeepsWhatItFreesAndWantsAgain) {
  fill_and_free();
  EXPECT_LE(kept(), kFew) << "once is not again";
  fill_and_free();
  EXPECT_GE(kept(), kSlabs - 1);
  for (int i = 0; i < 3; ++i) {
    fill_and_free();
    EXPECT_GE(kept(), kSlabs - 1);
    EXPECT_LE(kept(), kSlabs + 1) << "it keeps more than it ever used";
  }
  flush_thread(this_heap);
  EXPECT_EQ(kept(), 0U);
  EXPECT_FALSE(this_heap->empties.has_learned());
}

TEST_F(KeptSlabsTest, AnEmptySlabBeginsAnew) {
  for (int i = 0; i < 3; ++i) fill_and_free();
  std::vector<char*> blocks(20 * kSizeClasses[class_of(kSize)].capacity);
  for (char*& block : blocks) block = static_cast<char*>(allocate(kSize));
  std::size_t in_order = 0;
  for (std::size_t i = 1; i < blocks.size(); ++i) in_order += blocks[i] == blocks[i - 1] + kSize;
  // But for the slab that was current when it became empty, and the steps from slab to slab.
  EXPECT_GE(in_order, blocks.size() * 9 / 10);
  for (char* block : blocks) deallocate(block);
}

TEST_F(KeptSlabsTest, ASlabThatBeganAnewIsNotTakenForZeros) {
  constexpr std::size_t kLarge = 2000;
  for (int i = 0; i < 3; ++i) fill_and_free(kLarge);
  std::vector<unsigned char*> blocks(kSlabs * kSizeClasses[class_of(kLarge)].capacity);
  for (unsigned char*& block : blocks) {
    block = static_cast<unsigned char*>(allocate(kLarge));
    std::fill_n(block, kLarge, 0xff);
  }
  for (void* block : blocks) deallocate(block);
  for (unsigned char*& block : blocks) {
    block = static_cast<unsigned char*>(allocate_zeroed(1, kLarge));
    ASSERT_EQ(std::count(block, block + kLarge, 0), std::ptrdiff_t(kLarge));
  }
  for (void* block : blocks) deallocate(block);
}

TEST_F(KeptSlabsTest, AnotherClassGetsThemFirst) {
  for (int i = 0; i < 3; ++i) fill_and_free();
  ASSERT_GE(kept(), kSlabs - 1);
  const std::size_t mapped = stats().mapped;
  std::vector<void*> others(kSizeClasses[class_of(512)].capacity * 50);
  for (void*& block : others) block = allocate(512);
  EXPECT_LE(kept(), kFew);
  EXPECT_EQ(stats().mapped, mapped);
  for (void* block : others) deallocate(block);
}

TEST_F(KeptSlabsTest, ALargeBlockGetsThemFirst) {
  for (int i = 0; i < 3; ++i) fill_and_free();
  ASSERT_GE(kept(), kSlabs - 1);
  const std::size_t mapped = stats().mapped;
  std::vector<void*> large(10);
  // So short that they fit between the few that stay.
  for (void*& block : large) block = allocate(4 * kUnit);
  EXPECT_LE(kept(), kFew);
  EXPECT_EQ(stats().mapped, mapped);
  for (void* block : large) deallocate(block);
}

TEST_F(KeptSlabsTest, NotWhereTheLimitIsNear) {
  fill_and_free();
  footprint.set_bounds(footprint.bytes() + kSlabs / 2 * kUnit, SIZE_MAX, SIZE_MAX);
  for (int i = 0; i < 3; ++i) {
    fill_and_free();
    EXPECT_LE(kept(), kFew);
  }
  footprint.set_bounds(SIZE_MAX, SIZE_MAX, SIZE_MAX);
}

TEST_F(KeptSlabsTest, WhatIsNotNeededGoesBack) {
  for (int i = 0; i < 3; ++i) fill_and_free();
  ASSERT_GE(kept(), kSlabs - 1);
  options.purge_delay = 0;
  for (int i = 0; i < 2000; ++i) deallocate(allocate(5000));
  EXPECT_LE(kept(), kFew);
}

}  // namespace
}  // namespace corbel::alloc
