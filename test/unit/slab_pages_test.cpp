// SPDX-License-Identifier: Apache-2.0
// Pages of slabs that are decommitted while other blocks of the slab are live: which pages they
// are, what happens to their blocks, and that every byte of the live blocks stays.
#include "alloc/heap/slab_pages.hpp"

#include <cstdint>

#include "alloc/policy/reclaim.hpp"
#include "slab_pages_fixture.hpp"

namespace corbel::alloc {
namespace {

class OfAllClasses : public SlabPagesTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(OfAllClasses, OnlyThePagesOfSurvivorsStayAndEveryBlockComesBack) {
  os::fake::pretend_page_size(GetParam());
  std::mt19937 random{unsigned(GetParam())};
  for (const SizeClass& layout : kSizeClasses) {
    SCOPED_TRACE(layout.block_size);
    // Keep so few blocks that most pages have none.
    const unsigned one_in = unsigned(std::max<std::size_t>(4, 3 * 4096 / layout.block_size));
    std::vector<Piece> kept =
        thin_out(layout.block_size, [&](std::size_t) { return random() % one_in == 0; });
    purge_slabs(this_heap);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
    ASSERT_NO_FATAL_FAILURE(expect_counted());
    EXPECT_EQ(purge_slabs(this_heap), 0U) << "the first purge left something";
    ASSERT_NO_FATAL_FAILURE(expect_whole(kept));

    std::set<Span*> slabs;
    std::size_t capacity = 0;
    for (const Piece& piece : kept) slabs.insert(slab_of(piece.block));
    for (const Span* slab : slabs) capacity += slab->layout().capacity;
    std::vector<Piece> all = kept;
    while (all.size() < capacity) {
      all.push_back(make(layout.block_size, all.size()));
      ASSERT_EQ(slabs.count(slab_of(all.back().block)), 1U) << "a block was lost";
    }
    ASSERT_NO_FATAL_FAILURE(expect_whole(all));
    for (const Span* slab : slabs) ASSERT_EQ(slab->decommitted.blocks, 0U);
    ASSERT_NO_FATAL_FAILURE(expect_counted());
    free_all(all);
  }
}

TEST_P(OfAllClasses, ARefusedPurgeChangesNothing) {
  os::fake::pretend_page_size(GetParam());
  for (const std::size_t size : {8, 48, 1280, 5120, 40960, 131072}) {
    const std::vector<Piece> kept = thin_out(size, [](std::size_t i) { return i % 4 == 3; });
    os::fake::refuse({.decommits_in_1000 = 1000});
    EXPECT_EQ(purge_slabs(this_heap), 0U);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
    os::fake::refuse({.decommits_in_1000 = 500});
    for (int i = 0; i < 3; ++i) {
      purge_slabs(this_heap);
      ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
      ASSERT_NO_FATAL_FAILURE(expect_counted());
    }
    os::fake::refuse({});
    purge_slabs(this_heap);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
    ASSERT_NO_FATAL_FAILURE(expect_whole(kept));
    free_all(kept);
  }
}

TEST_P(OfAllClasses, CallocIsZeroOnRecommittedPages) {
  os::fake::pretend_page_size(GetParam());
  for (const SizeClass& layout : kSizeClasses) {
    const std::vector<Piece> kept =
        thin_out(layout.block_size, [](std::size_t i) { return i % 5 == 0; });
    purge_slabs(this_heap);
    std::vector<Piece> zeroed;
    for (std::uint32_t i = 0; i < layout.capacity * 5 / 2; ++i) {
      auto* block = static_cast<unsigned char*>(allocate_zeroed(1, layout.block_size));
      ASSERT_TRUE(is_zero(block, layout.block_size));
      zeroed.push_back({block, layout.block_size, i});
      fill(zeroed.back());
    }
    ASSERT_NO_FATAL_FAILURE(expect_whole(kept));
    ASSERT_NO_FATAL_FAILURE(expect_whole(zeroed));
    free_all(kept);
    free_all(zeroed);
  }
}

INSTANTIATE_TEST_SUITE_P(PageSize, OfAllClasses, testing::Values(4096, 16384, 65536));

// In a slab of used memory the uncarved rest may be resident. It is purged, too.
TEST_F(SlabPagesTest, TheUncarvedRestOfAnUsedSpanIsPurged) {
  for (const std::size_t size : {64, 3072, 28672}) {
    flush_thread(this_heap);
    deallocate(std::memset(allocate(4 << 20), 0xee, 4 << 20));
    std::vector<Piece> few;
    for (std::uint64_t i = 0; i < 3; ++i) few.push_back(make(size, i));
    const Span* slab = slab_of(few[0].block);
    ASSERT_FALSE(slab->zeroed) << "the test needs used memory";
    EXPECT_GT(purge_slabs(this_heap), 0U);
    ASSERT_NO_FATAL_FAILURE(expect_sound(slab));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(few));
    while (few.size() < slab->layout().capacity) {
      auto* block = static_cast<unsigned char*>(allocate_zeroed(1, size));
      ASSERT_TRUE(is_zero(block, size));
      few.push_back({block, size, few.size()});
      fill(few.back());
      if (few.size() % 16 == 0) {
        purge_slabs(this_heap);
        ASSERT_NO_FATAL_FAILURE(expect_sound(slab));
      }
      ASSERT_NO_FATAL_FAILURE(expect_counted());
    }
    ASSERT_NO_FATAL_FAILURE(expect_whole(few));
    free_all(few);
  }
}

// A slab of used memory may have resident pages after its last block, where no block will ever lie.
// They are purged although the slab is full.
TEST_F(SlabPagesTest, TheRestAfterTheLastBlockOfAFullSlabIsPurged) {
  for (const std::size_t size : {24576, 73728, 106496}) {
    flush_thread(this_heap);
    deallocate(std::memset(allocate(4 << 20), 0xee, 4 << 20));
    std::vector<Piece> all = {make(size, 0)};
    const Span* slab = slab_of(all[0].block);
    const SizeClass& layout = slab->layout();
    ASSERT_FALSE(slab->zeroed) << "the test needs used memory";
    ASSERT_GE(slab->bytes(), layout.capacity * layout.block_size + os::page_size());
    while (all.size() < 2 * layout.capacity) all.push_back(make(size, all.size()));
    EXPECT_GT(purge_slabs(this_heap), 0U);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(all));
    ASSERT_NO_FATAL_FAILURE(expect_counted());
    EXPECT_EQ(purge_slabs(this_heap), 0U) << "the first purge left something";
    ASSERT_NO_FATAL_FAILURE(expect_whole(all));
    free_all(all);
  }
}

TEST_F(SlabPagesTest, AnEmptySlabOfSeveralUnitsStaysCountedUntilItIsUsed) {
  for (const std::size_t size : {40960, 114688, 131072}) {
    flush_thread(this_heap);
    ASSERT_EQ(this_heap->empty_units, 0U);
    Bin* bin = &this_heap->bins[class_of(size)];
    void* a = allocate(size);
    void* b = allocate(size);
    deallocate(a);
    return_current(this_heap, bin);  // b alone keeps the slab
    purge_slabs(this_heap);
    void* c = allocate(size);  // recommitted; the slab is current
    deallocate(b);
    deallocate(c);  // empty, current, of several units: kept and counted
    Span* slab = bin->current;
    ASSERT_NE(slab, nullptr);
    EXPECT_EQ(this_heap->empty_units, slab->units);
    c = allocate(size);
    EXPECT_EQ(this_heap->empty_units, 0U);
    deallocate(c);
  }
}

// A slab with only decommitted blocks counts as empty until it hands one out.
TEST_F(SlabPagesTest, ASlabWithOnlyDecommittedBlocksCountsAsEmpty) {
  for (const std::size_t size : {64, 40960}) {
    flush_thread(this_heap);
    const Bin& bin = this_heap->bins[class_of(size)];
    free_all(thin_out(size, [](std::size_t) { return true; }));
    purge_slabs(this_heap);
    const Span* slab = bin.available.first;
    ASSERT_NE(slab, nullptr) << "the heap kept no empty slab";
    ASSERT_NO_FATAL_FAILURE(expect_sound(slab));
    EXPECT_EQ(slab->decommitted.blocks, slab->blocks.carved.get());
    const std::uint32_t counted = this_heap->empty_units;
    const Piece piece = make(size, 1);
    EXPECT_EQ(slab_of(piece.block), slab);
    EXPECT_EQ(this_heap->empty_units, counted - slab->units);
    deallocate(piece.block);
  }
}

// At a limit that allows no further page, the heap first uses blocks of another slab. The slab it
// skips still counts as empty.
TEST_F(SlabPagesTest, AtALimitDecommittedPagesStayDecommitted) {
  const std::size_t capacity = kSizeClasses[class_of(64)].capacity;
  std::vector<Piece> first;
  std::vector<Piece> second;
  for (std::size_t i = 0; i < capacity; ++i) first.push_back(make(64, i));
  for (std::size_t i = 0; i < capacity; ++i) second.push_back(make(64, i));
  const Span* empty = slab_of(first[0].block);
  free_all(first);
  purge_slabs(this_heap);
  ASSERT_EQ(this_heap->empty_units, empty->units);
  deallocate(second.back().block);
  footprint.set_bounds(0, SIZE_MAX, SIZE_MAX);
  void* block = allocate(64);
  EXPECT_EQ(block, second.back().block);
  EXPECT_EQ(this_heap->empty_units, empty->units);
  footprint.set_bounds(SIZE_MAX, SIZE_MAX, SIZE_MAX);
  ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
  free_all(second);
}

TEST_F(SlabPagesTest, ADoubleFreeIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        for (int i = 0; i < 8; ++i) allocate(64);
        void* block = allocate(64);
        deallocate(block);
        deallocate(block);
        purge_slabs(this_heap);
      },
      "freed twice");
}

}  // namespace
}  // namespace corbel::alloc
