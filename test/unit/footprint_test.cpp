// SPDX-License-Identifier: Apache-2.0
// Compares the footprint with what the system reports as resident: it is never less, and it is
// equal once all free memory has been given back.
#include "alloc/map/footprint.hpp"

#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/map/dirty_pages.hpp"
#include "alloc/map/size_class.hpp"
#include "alloc/pages/span_heap.hpp"
#include "os/fake/fake.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

// The pages of a new heap are counted when it is made, but become resident one by one.
constexpr std::size_t kSlack = 64 << 10;

void expect_covered() {
  const std::size_t resident = os::fake::resident_bytes();
  EXPECT_GE(footprint.bytes(), resident);
}

// The program writes to all it holds, so only a heap's own pages may be counted without being
// resident.
void expect_exact(const char* when) {
  trim(0);
  const std::size_t resident = os::fake::resident_bytes();
  EXPECT_GE(footprint.bytes(), resident) << when;
  EXPECT_LE(footprint.bytes(), resident + kSlack) << when;
}

class FootprintTest : public testing::Test {
 protected:
  void SetUp() override { trim(0); }
  void TearDown() override {
    os::fake::refuse({});
    expect_exact("at the end");
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }
};

struct Piece {
  void* block;
  std::size_t size;
};

void* filled(void* block) {
  if (block != nullptr) std::memset(block, 0x55, usable_size(block));
  return block;
}

std::size_t draw_size(std::mt19937& random) {
  switch (random() % 8) {
    case 0:
      return 130000 + random() % 3000000;
    case 1:
      return 2000 + random() % 120000;
    default:
      return random() % 1500;
  }
}

// `alone`: no other thread changes the figures between two looks.
void random_operations(unsigned seed, int steps, std::vector<Piece>& pieces, bool alone = true) {
  std::mt19937 random(seed);
  for (int step = 0; step < steps; ++step) {
    const std::size_t size = draw_size(random);
    const bool shrinking = step / 500 % 2 != 0;
    const unsigned kind = random() % 10;
    if (kind < (shrinking ? 3U : 6U) || pieces.empty()) {
      pieces.push_back({filled(allocate(size)), size});
      continue;
    }
    Piece& piece = pieces[random() % pieces.size()];
    if (kind == 9) {
      piece.block = filled(reallocate(piece.block, size + 1));
      continue;
    }
    deallocate(piece.block);
    piece = pieces.back();
    pieces.pop_back();
    if (step % 400 == 0) trim(random() % (8 << 20));
    if (alone && step % 100 == 0) expect_covered();
  }
}

void release(std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) deallocate(piece.block);
  pieces.clear();
}

TEST_F(FootprintTest, EqualsTheResidentBytes) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::vector<Piece> pieces;
    random_operations(seed, 4000, pieces);
    expect_covered();
    // No page of a slab stays without a live block either.
    expect_exact("with blocks in use");
    release(pieces);
    expect_exact("after a round");
  }
}

TEST_F(FootprintTest, OtherThreadsCountToo) {
  std::vector<Piece> pieces[3];
  {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] { random_operations(10 + i, 2000, pieces[i], false); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  expect_covered();
  for (auto& some : pieces) release(some);
}

// Near the limit, pages without use are given back when a block is allocated or resized.
TEST_F(FootprintTest, UnderALimit) {
  for (std::size_t limit_mib : {8, 64, 256}) {
    corbel_set_heap_limit(limit_mib << 20);
    std::vector<Piece> pieces;
    random_operations(unsigned(limit_mib), 4000, pieces);
    expect_covered();
    expect_exact("with blocks in use");
    release(pieces);
    corbel_set_heap_limit(0);
  }
}

// A program may write to all that malloc_usable_size() reports, and the pages after that stay away.
TEST_F(FootprintTest, ALargeBlockCountsItsPages) {
  deallocate(allocate(200 << 10));  // the tables count too
  trim(0);
  const std::size_t before = footprint.bytes();
  char* block = static_cast<char*>(allocate(130 << 10));
  EXPECT_EQ(footprint.bytes(), before + (132 << 10));
  EXPECT_EQ(usable_size(block), 132U << 10);
  block = static_cast<char*>(filled(reallocate(block, 150 << 10)));
  EXPECT_EQ(footprint.bytes(), before + (152 << 10));
  block = static_cast<char*>(filled(reallocate(block, 200 << 10)));
  EXPECT_EQ(block[129 << 10], 0x55);
  expect_covered();
  trim(0);  // the block may have moved
  EXPECT_EQ(footprint.bytes(), before + (200 << 10));
  deallocate(block);
  EXPECT_EQ(stats().free_resident, 200U << 10);
}

// Refusals would reveal a footprint that is right only because two errors cancel out.
TEST_F(FootprintTest, OnASystemThatRefusesAtRandom) {
  os::fake::refuse(
      {.unmaps_in_1000 = 300, .decommits_in_1000 = 300, .moves_in_1000 = 500, .seed = 3});
  std::vector<Piece> pieces;
  random_operations(20, 4000, pieces);
  expect_covered();
  os::fake::refuse({});
  release(pieces);
}

TEST_F(FootprintTest, FreshSlabsCountTheirCarvedPages) {
  const std::size_t before = footprint.bytes();
  void* blocks[4];
  for (void*& block : blocks) block = filled(allocate(36000));
  // A slab of this class is 192 KiB long.
  EXPECT_LE(footprint.bytes(), before + 5 * (36 << 10) + (8 << 10));
  EXPECT_GE(footprint.bytes(), before + 4 * 36000);
  for (void* block : blocks) deallocate(block);
}

// A slab cut from resident memory counts as a whole, although a class that needs one block uses one
// page.
TEST_F(FootprintTest, ANewClassTakesUntouchedMemory) {
  void* used = filled(allocate(1 << 20));
  void* wall = filled(allocate(300 << 10));
  deallocate(used);
  const std::size_t before = footprint.bytes();
  void* block = allocate(700);
  EXPECT_EQ(footprint.bytes(), before + os::page_size());
  deallocate(block);
  deallocate(wall);
}

TEST_F(FootprintTest, ALargeBlockCountsAsAWholeBeforeItIsTouched) {
  const std::size_t before = footprint.bytes();
  void* block = allocate(10 << 20);
  EXPECT_GE(footprint.bytes(), before + (10 << 20));
  deallocate(block);
  trim(0);
  EXPECT_LE(footprint.bytes(), before + kSlack);
}

TEST_F(FootprintTest, FreeMemoryIsNotCountedTwiceWhenItIsReused) {
  const std::size_t before = footprint.bytes();
  deallocate(filled(allocate(10 << 20)));
  for (int i = 0; i < 10; ++i) {
    void* block = filled(allocate((8 << 20) + i * 100000));
    EXPECT_LE(footprint.bytes(), before + (10 << 20) + kSlack);
    deallocate(block);
  }
}

// Only the growth needs room, because the pages move.
TEST_F(FootprintTest, AGrowingBlockNeverCountsTwice) {
  constexpr std::size_t kSize = 300 << 20;
  constexpr std::size_t kTables = kSlack + 2 * kSize / 512;
  void* block = allocate(kSize);
  void* wall = allocate(1 << 20);
  block = reallocate(block, kSize + (16 << 20));  // teaches the allocator that pages move
  std::memset(block, 1, 1 << 20);
  const std::size_t before = footprint.bytes();
  ASSERT_LT(footprint.peak(), before + kSize / 2) << "the old peak would hide the new one";
  block = reallocate(block, 2 * kSize);
  EXPECT_LE(footprint.bytes(), before + kSize + kTables);
  EXPECT_LE(footprint.peak(), before + kSize + kTables);
  expect_covered();
  deallocate(block);
  deallocate(wall);
}

TEST_F(FootprintTest, ACopiedBlockCountsTwice) {
  // On the first round the allocator does not know yet that pages do not move here.
  for (int i = 0; i < 2; ++i) {
    void* block = filled(allocate(20 << 20));
    void* wall = allocate(1 << 20);
    os::fake::refuse({.moves_in_1000 = 1000});
    block = filled(reallocate(block, 40 << 20));
    expect_covered();
    os::fake::refuse({});
    deallocate(block);
    deallocate(wall);
  }
}

TEST_F(FootprintTest, TheCountOfDirtyPagesMatchesTheirBits) {
  Span* span = span_heap.allocate(70, 1);
  ASSERT_NE(span, nullptr);
  Span* const sixth = find_span(span->start() + 5 * kUnit);
  Span* const tenth = find_span(span->start() + 9 * kUnit);
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, kDirtyPage, 3 * kUnit + 1, 9 * kUnit,
                            69 * kUnit + 5 * kDirtyPage, 70 * kUnit}) {
    set_dirty(span, 70, bytes);
    const DirtyCount count = count_dirty(span, 70);
    EXPECT_EQ(count.pages, divide_up(bytes, kDirtyPage)) << bytes;
    EXPECT_EQ(count.units, divide_up(bytes, kUnit)) << bytes;
    EXPECT_EQ(count_dirty(tenth, 1).units, bytes > 9 * kUnit ? 1U : 0U);
  }
  clear_dirty(sixth, 0x8001);
  EXPECT_EQ(count_dirty(span, 70).pages, 70U * 16 - 2);
  EXPECT_EQ(count_dirty(sixth, 1).pages, 14U);
  span->zeroed = false;
  span_heap.free(span);
}

}  // namespace
}  // namespace corbel::alloc
