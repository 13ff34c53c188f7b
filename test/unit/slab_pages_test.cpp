// SPDX-License-Identifier: Apache-2.0
// Pages of slabs that go back to the system while other blocks of the slab live: which of them do,
// what becomes of the blocks, and that every byte stays what it was.
#include "alloc/slab_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/footprint.hpp"
#include "alloc/orphans.hpp"
#include "alloc/page_map.hpp"
#include "alloc/reclaim.hpp"
#include "alloc/slab.hpp"
#include "os/fake/fake.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

struct Piece {
  unsigned char* block;
  std::size_t size;
  std::uint64_t mark;
};

unsigned char byte_of(std::uint64_t mark, std::size_t i) {
  return static_cast<unsigned char>((mark + i / 8 * 0x9e3779b97f4a7c15U) >> (i % 8 * 8));
}

void fill(const Piece& piece) {
  for (std::size_t i = 0; i < piece.size; ++i) piece.block[i] = byte_of(piece.mark, i);
}

bool is_whole(const Piece& piece) {
  for (std::size_t i = 0; i < piece.size; ++i) {
    if (piece.block[i] != byte_of(piece.mark, i)) return false;
  }
  return true;
}

// Filled to the last byte of its class.
Piece make(std::size_t size, std::uint64_t number) {
  Piece piece{static_cast<unsigned char*>(allocate(size)), size, number * 0xd1342543de82ef95U};
  EXPECT_NE(piece.block, nullptr);
  piece.size = usable_size(piece.block);
  fill(piece);
  return piece;
}

Span* slab_of(const void* block) { return slab_head(find_span(block)); }

bool is_resident(const void* page) {
  unsigned char answer = 0;
  const auto system_page = std::size_t(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(mincore(const_cast<void*>(page), system_page, &answer), 0);
  return (answer & 1) != 0;
}

bool says_purged(const Span* slab, std::size_t offset) {
  const Span* unit = find_span(slab->start() + offset);
  const unsigned bits = unsigned(unit->purged.pages) >> (offset % kUnit / 4096);
  const unsigned whole = (1U << (os::page_size() / 4096)) - 1;
  EXPECT_TRUE((bits & whole) == 0 || (bits & whole) == whole) << "a part of a page";
  return (bits & 1) != 0;
}

// The equations of span.hpp, counted byte by page by block without any help of the code under test.
void expect_sound(const Span* slab) {
  const SizeClass& layout = slab->layout();
  const std::size_t page = os::page_size();
  const auto is_purged = [&](std::size_t block) {
    const std::size_t begin = block * layout.block_size / page * page;
    for (std::size_t at = begin; at < (block + 1) * layout.block_size; at += page) {
      if (says_purged(slab, at)) return true;
    }
    return false;
  };
  const std::size_t carved = slab->blocks.carved.get();
  std::size_t purged = 0;
  for (std::size_t i = 0; i < carved; ++i) purged += is_purged(i) ? 1 : 0;
  std::size_t listed = 0;
  for (const Block* block = slab->blocks.freed; block != nullptr; block = block->next) {
    const auto offset = std::size_t(reinterpret_cast<const char*>(block) - slab->start());
    ASSERT_EQ(offset % layout.block_size, 0U);
    ASSERT_LT(offset / layout.block_size, carved);
    ASSERT_FALSE(is_purged(offset / layout.block_size)) << "a block of the list is purged";
    ASSERT_LE(++listed, carved) << "the list runs in a circle";
  }
  ASSERT_EQ(slab->purged.blocks, purged);
  ASSERT_EQ(slab->blocks.used.get() + listed + purged, carved);
  ASSERT_LE(carved, layout.capacity);
  for (std::size_t at = 0; at < slab->units * kUnit; at += page) {
    if (says_purged(slab, at)) {
      ASSERT_FALSE(is_resident(slab->start() + at));
    }
  }
}

void expect_all_sound(const Heap& heap) {
  for (const Bin& bin : heap.bins) {
    for (const SlabList* list : {&bin.available, &bin.full}) {
      for (const Span* slab = list->first; slab != nullptr; slab = slab->next) {
        ASSERT_NO_FATAL_FAILURE(expect_sound(slab));
      }
    }
  }
}

std::set<std::uintptr_t> pages_of(const std::vector<Piece>& pieces) {
  std::set<std::uintptr_t> pages;
  const std::size_t page = os::page_size();
  for (const Piece& piece : pieces) {
    const auto begin = address_of(piece.block);
    for (std::uintptr_t at = begin / page; at <= (begin + piece.size - 1) / page; ++at) {
      pages.insert(at * page);
    }
  }
  return pages;
}

// Of the slabs of these pieces, no page is resident but those that they lie on.
void expect_only_resident(const std::vector<Piece>& pieces) {
  const std::set<std::uintptr_t> held = pages_of(pieces);
  std::set<Span*> slabs;
  for (const Piece& piece : pieces) slabs.insert(slab_of(piece.block));
  for (const Span* slab : slabs) {
    for (std::size_t at = 0; at < slab->units * kUnit; at += os::page_size()) {
      const char* page = slab->start() + at;
      ASSERT_EQ(is_resident(page), held.count(address_of(page)) != 0)
          << "page " << at / os::page_size() << " of a slab of " << slab->layout().block_size;
    }
  }
}

// What is purged is not in the footprint, and nothing else is missing there.
void expect_counted() {
  const Stats s = stats();
  ASSERT_EQ(s.footprint, s.mapped - s.uncommitted + s.metadata);
}

class SlabPagesTest : public testing::Test {
 protected:
  void SetUp() override {
    deallocate(allocate(1));  // the thread has a heap
    trim(0);
    live_before_ = stats().live;
  }
  void TearDown() override {
    os::fake::refuse({});
    trim(0);
    os::fake::pretend_page_size(0);
    expect_counted();
    EXPECT_EQ(stats().live, live_before_) << "the test kept a block, or the allocator lost one";
    EXPECT_EQ(this_heap->empty_units, 0U);
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }

 private:
  std::size_t live_before_ = 0;
};

// Makes enough blocks for a few slabs and frees all but those that `keeps` wants.
std::vector<Piece> thin_out(std::size_t size, const std::function<bool(std::size_t)>& keeps) {
  const std::size_t n = kSizeClasses[class_of(size)].capacity * 5 / 2;
  std::vector<Piece> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(make(size, i));
  std::vector<Piece> kept;
  for (std::size_t i = 0; i < n; ++i) {
    if (keeps(i)) {
      kept.push_back(all[i]);
    } else {
      deallocate(all[i].block);
    }
  }
  return kept;
}

void expect_whole(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) ASSERT_TRUE(is_whole(piece));
}

void free_all(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) deallocate(piece.block);
}

class OfAllClasses : public SlabPagesTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(OfAllClasses, OnlyThePagesOfSurvivorsStayAndEveryBlockComesBack) {
  os::fake::pretend_page_size(GetParam());
  std::mt19937 random{unsigned(GetParam())};
  for (const SizeClass& layout : kSizeClasses) {
    SCOPED_TRACE(layout.block_size);
    // One of so many blocks that most pages have none.
    const unsigned one_in = unsigned(std::max<std::size_t>(4, 3 * 4096 / layout.block_size));
    std::vector<Piece> kept =
        thin_out(layout.block_size, [&](std::size_t) { return random() % one_in == 0; });
    purge_pages(this_heap);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
    ASSERT_NO_FATAL_FAILURE(expect_counted());
    EXPECT_EQ(purge_pages(this_heap), 0U) << "there was more to purge";
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
    for (const Span* slab : slabs) ASSERT_EQ(slab->purged.blocks, 0U);
    ASSERT_NO_FATAL_FAILURE(expect_counted());
    free_all(all);
  }
}

TEST_P(OfAllClasses, ARefusedPurgeChangesNothing) {
  os::fake::pretend_page_size(GetParam());
  for (const std::size_t size : {8, 48, 1280, 5120, 40960, 131072}) {
    const std::vector<Piece> kept = thin_out(size, [](std::size_t i) { return i % 4 == 3; });
    os::fake::refuse({.purges_in_1000 = 1000});
    EXPECT_EQ(purge_pages(this_heap), 0U);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
    os::fake::refuse({.purges_in_1000 = 500});
    for (int i = 0; i < 3; ++i) {
      purge_pages(this_heap);
      ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
      ASSERT_NO_FATAL_FAILURE(expect_counted());
    }
    os::fake::refuse({});
    purge_pages(this_heap);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
    ASSERT_NO_FATAL_FAILURE(expect_whole(kept));
    free_all(kept);
  }
}

TEST_P(OfAllClasses, CallocIsZeroWherePagesHaveGoneAndComeBack) {
  os::fake::pretend_page_size(GetParam());
  for (const SizeClass& layout : kSizeClasses) {
    const std::vector<Piece> kept =
        thin_out(layout.block_size, [](std::size_t i) { return i % 5 == 0; });
    purge_pages(this_heap);
    std::vector<Piece> zeroed;
    for (std::uint32_t i = 0; i < layout.capacity * 5 / 2; ++i) {
      auto* block = static_cast<unsigned char*>(allocate_zeroed(1, layout.block_size));
      ASSERT_EQ(std::count(block, block + layout.block_size, 0), layout.block_size);
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

// A slab in memory that was used before: what is not carved of it may be resident and goes back
// too.
TEST_F(SlabPagesTest, TheUncarvedRestOfAnUsedSpanIsPurged) {
  for (const std::size_t size : {64, 3072, 20480}) {
    flush_thread(this_heap);
    deallocate(std::memset(allocate(4 << 20), 0xee, 4 << 20));
    std::vector<Piece> few;
    for (std::uint64_t i = 0; i < 3; ++i) few.push_back(make(size, i));
    const Span* slab = slab_of(few[0].block);
    ASSERT_FALSE(slab->zeroed) << "the test wants used memory";
    EXPECT_GT(purge_pages(this_heap), 0U);
    ASSERT_NO_FATAL_FAILURE(expect_sound(slab));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(few));
    while (few.size() < slab->layout().capacity) {
      auto* block = static_cast<unsigned char*>(allocate_zeroed(1, size));
      ASSERT_EQ(std::count(block, block + size, 0), std::ptrdiff_t(size));
      few.push_back({block, size, few.size()});
      fill(few.back());
      if (few.size() % 16 == 0) {
        purge_pages(this_heap);
        ASSERT_NO_FATAL_FAILURE(expect_sound(slab));
      }
      ASSERT_NO_FATAL_FAILURE(expect_counted());
    }
    ASSERT_NO_FATAL_FAILURE(expect_whole(few));
    free_all(few);
  }
}

TEST_F(SlabPagesTest, AnEmptySlabOfSeveralUnitsStaysCountedUntilItIsUsed) {
  for (const std::size_t size : {20480, 114688, 131072}) {
    flush_thread(this_heap);
    ASSERT_EQ(this_heap->empty_units, 0U);
    Bin* bin = &this_heap->bins[class_of(size)];
    void* a = allocate(size);
    void* b = allocate(size);
    deallocate(a);
    return_current(this_heap, bin);  // b alone holds it
    purge_pages(this_heap);
    void* c = allocate(size);  // restored, and the slab is current
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

// One that holds nothing but purged blocks is as empty as any other, until it gives one of them.
TEST_F(SlabPagesTest, ASlabOfPurgedBlocksAloneCountsAsEmpty) {
  for (const std::size_t size : {64, 20480}) {
    flush_thread(this_heap);
    const Bin& bin = this_heap->bins[class_of(size)];
    free_all(thin_out(size, [](std::size_t) { return true; }));
    purge_pages(this_heap);
    const Span* slab = bin.available.first;
    ASSERT_NE(slab, nullptr) << "the heap kept no empty slab";
    ASSERT_NO_FATAL_FAILURE(expect_sound(slab));
    EXPECT_EQ(slab->purged.blocks, slab->blocks.carved.get());
    const std::uint32_t counted = this_heap->empty_units;
    const Piece piece = make(size, 1);
    EXPECT_EQ(slab_of(piece.block), slab);
    EXPECT_EQ(this_heap->empty_units, counted - slab->units);
    deallocate(piece.block);
  }
}

TEST_F(SlabPagesTest, OfOrphansToo) {
  std::vector<Piece> kept;
  std::vector<Piece> others;
  std::thread([&] {
    std::mt19937 random(3);
    for (const std::size_t size : {8, 64, 200, 1280, 5120, 40960}) {
      const std::size_t n = kSizeClasses[class_of(size)].capacity * 3;
      for (std::size_t i = 0; i < n; ++i) {
        const Piece piece = make(size, i);
        // Of every slab one block, and a few more.
        const bool keeps = kept.empty() || slab_of(kept.back().block) != slab_of(piece.block);
        (keeps || random() % 200 == 0 ? kept : others).push_back(piece);
      }
    }
  }).join();
  free_all(others);
  flush_thread(this_heap);
  tidy_orphans();
  EXPECT_GT(purge_orphan_pages(), 1U << 20);
  ASSERT_NO_FATAL_FAILURE(expect_all_sound(orphan_heap));
  ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
  for (const Piece& piece : kept) {
    ASSERT_EQ(owner_of(slab_of(piece.block)->tag()), &orphan_heap);
  }
  // What has not changed is not looked at again.
  const std::uint64_t calls = os::fake::figures().purge_calls;
  EXPECT_EQ(purge_orphan_pages(), 0U);
  EXPECT_EQ(os::fake::figures().purge_calls, calls);

  // A thread that needs blocks takes the slabs over and finds every block of them.
  std::vector<Piece> again;
  std::thread([&] {
    std::set<Span*> slabs;
    for (const Piece& piece : kept) slabs.insert(slab_of(piece.block));
    for (const Piece& piece : others) {
      again.push_back(make(piece.size, again.size()));
      ASSERT_EQ(slabs.count(slab_of(again.back().block)), 1U) << "a block was lost";
    }
    expect_whole(again);
  }).join();
  expect_whole(kept);
  free_all(again);
  trim(0);
  ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
  expect_whole(kept);
  free_all(kept);
}

std::vector<Piece> make_orphans(std::size_t size, std::size_t slabs) {
  std::vector<Piece> pieces;
  std::thread([&] {
    const std::size_t n = kSizeClasses[class_of(size)].capacity * slabs;
    for (std::size_t i = 0; i < n; ++i) pieces.push_back(make(size, i));
  }).join();
  return pieces;
}

// Frees all but every n-th, from the i-th on.
std::vector<Piece> free_others(const std::vector<Piece>& pieces, std::size_t n, std::size_t i) {
  std::vector<Piece> kept;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (k % n == i) {
      kept.push_back(pieces[k]);
    } else {
      deallocate(pieces[k].block);
    }
  }
  flush_thread(this_heap);
  return kept;
}

// What the system has refused is not tried again before more of the slab is free.
TEST_F(SlabPagesTest, AnOrphanIsVisitedAgainWhenSomethingWasFreed) {
  std::vector<Piece> kept = free_others(make_orphans(1024, 3), 16, 1);
  os::fake::refuse({.purges_in_1000 = 1000});
  const std::uint64_t calls = os::fake::figures().purge_calls;
  EXPECT_EQ(purge_orphan_pages(), 0U);
  EXPECT_GT(os::fake::figures().purge_calls, calls);
  os::fake::refuse({});
  EXPECT_EQ(purge_orphan_pages(), 0U);
  kept = free_others(kept, 2, 0);
  EXPECT_GT(purge_orphan_pages(), 0U);
  ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
  free_all(kept);
}

std::vector<Piece> to_free_meanwhile;

// While a slab is being looked at, another thread frees blocks of it: some of them, or all.
TEST_F(SlabPagesTest, BlocksThatOthersFreeMeanwhileArrive) {
  for (const bool some : {true, false}) {
    const std::vector<Piece> before = free_others(make_orphans(1024, 2), 8, 0);
    std::vector<Piece> kept;
    to_free_meanwhile.clear();
    for (std::size_t i = 0; i < before.size(); ++i) {
      (some && i % 2 == 0 ? kept : to_free_meanwhile).push_back(before[i]);
    }
    os::fake::at_purge([](void*, std::size_t) {
      os::fake::at_purge(nullptr);
      std::thread([] { free_all(to_free_meanwhile); }).join();
    });
    EXPECT_GT(purge_orphan_pages(), 0U);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(orphan_heap));
    for (const Piece& piece : kept) {
      const Span* slab = slab_of(piece.block);
      EXPECT_EQ(owner_of(slab->tag()), &orphan_heap);
      EXPECT_EQ(slab->blocks.used.get(), kept.size() / 2) << "a block waits where nobody looks";
    }
    if (!some) {
      EXPECT_EQ(orphan_heap.bins[class_of(1024)].available.first, nullptr);
    }
    purge_orphan_pages();
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(orphan_heap));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
    expect_whole(kept);
    free_all(kept);
    flush_thread(this_heap);
  }
}

// Where no page may be entered any more, blocks of another slab come first, and the slab that was
// passed over is as empty as it was.
TEST_F(SlabPagesTest, AtALimitPurgedPagesStayWhereTheyAre) {
  const std::size_t capacity = kSizeClasses[class_of(64)].capacity;
  std::vector<Piece> first;
  std::vector<Piece> second;
  for (std::size_t i = 0; i < capacity; ++i) first.push_back(make(64, i));
  for (std::size_t i = 0; i < capacity; ++i) second.push_back(make(64, i));
  const Span* empty = slab_of(first[0].block);
  free_all(first);
  purge_pages(this_heap);
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

TEST_F(SlabPagesTest, AThreadWithoutAHeapPurgesTheOrphansAllTheSame) {
  std::vector<Piece> kept;
  std::thread([&] { kept = thin_out(256, [](std::size_t i) { return i % 64 == 0; }); }).join();
  std::thread([&] {
    ASSERT_EQ(this_heap, &unset_heap);
    EXPECT_GT(purge_orphan_pages(), 0U);
  }).join();
  ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
  expect_whole(kept);
  free_all(kept);
}

TEST_F(SlabPagesTest, ADoubleFreeIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        for (int i = 0; i < 8; ++i) allocate(64);
        void* block = allocate(64);
        deallocate(block);
        deallocate(block);
        purge_pages(this_heap);
      },
      "freed twice");
}

// Everything at random in several threads that end and begin: every byte is checked.
class Churn {
 public:
  explicit Churn(std::uint64_t seed) : random_(seed) {}
  ~Churn() {
    for (const Piece& piece : held_) check_and_free(piece);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

  // Takes over what another thread held.
  void take_from(Churn& other) {
    held_.insert(held_.end(), other.held_.begin(), other.held_.end());
    other.held_.clear();
  }

 private:
  void step() {
    const unsigned kind = unsigned(random_() % 1000);
    if (kind < 2) {
      purge_pages(this_heap);
      ASSERT_NO_FATAL_FAILURE(expect_all_sound(*this_heap));
    } else if (kind < 4) {
      purge_orphan_pages();
    } else if (kind < 5) {
      trim(0);
    } else if (kind < 8) {
      // A wave: most of it goes, a few stay.
      while (held_.size() > 40) drop();
      size_ = std::size_t(1) << random_() % 14;
    } else if (kind < 620 || held_.empty()) {
      add();
    } else {
      drop();
    }
  }

  void add() {
    const std::size_t size = random_() % 40 == 0 ? random_() % kMediumMax : 1 + random_() % size_;
    const bool zeroed = random_() % 3 == 0;
    auto* block = static_cast<unsigned char*>(zeroed ? allocate_zeroed(1, size) : allocate(size));
    ASSERT_NE(block, nullptr);
    if (zeroed) {
      ASSERT_EQ(std::count(block, block + size, 0), std::ptrdiff_t(size));
    }
    held_.push_back({block, size, random_()});
    fill(held_.back());
  }

  void drop() {
    std::swap(held_[random_() % held_.size()], held_.back());
    check_and_free(held_.back());
    held_.pop_back();
  }

  static void check_and_free(const Piece& piece) {
    EXPECT_TRUE(is_whole(piece)) << "a block of " << piece.size << " has changed";
    deallocate(piece.block);
  }

  std::mt19937_64 random_;
  std::size_t size_ = 512;
  std::vector<Piece> held_;
};

void churn(std::size_t page, std::uint64_t seed, int rounds) {
  trim(0);  // no slab lives to see another size of pages
  os::fake::pretend_page_size(page);
  os::fake::refuse({.purges_in_1000 = seed % 2 * 100, .seed = seed});
  std::vector<std::unique_ptr<Churn>> states;
  for (std::uint64_t i = 0; i < 3; ++i) states.push_back(std::make_unique<Churn>(seed * 16 + i));
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> threads;
    for (auto& state : states) threads.emplace_back([&state] { state->run(4000); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << " round " << round;
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(orphan_heap));
    ASSERT_NO_FATAL_FAILURE(expect_counted());
    // The blocks change hands, so that they are freed by threads that do not own them.
    std::rotate(states.begin(), states.begin() + 1, states.end());
    states[0]->take_from(*states[1]);
    states[0]->run(2000);
  }
}

TEST_F(SlabPagesTest, EveryByteStaysAtRandom) {
  const char* text = std::getenv("CORBEL_CHURN_SEEDS");
  const std::uint64_t seeds = text != nullptr ? std::strtoull(text, nullptr, 10) : 2;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const std::size_t page : {4096, 16384, 65536}) {
      ASSERT_NO_FATAL_FAILURE(churn(page, seed, 4));
    }
  }
}

}  // namespace
}  // namespace corbel::alloc
