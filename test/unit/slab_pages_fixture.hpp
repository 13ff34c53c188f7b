// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of decommitted pages: blocks with known content, and the equations of
// span.hpp, evaluated page by page without the code under test.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/heap/bin.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/map/options.hpp"
#include "alloc/map/page_map.hpp"
#include "os/fake/fake.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

struct Piece {
  unsigned char* block;
  std::size_t size;
  std::uint64_t mark;
};

// Fill pattern. If two blocks overlap, the content of one changes.
inline const std::vector<unsigned char>& noise() {
  static const std::vector<unsigned char> bytes = [] {
    std::vector<unsigned char> result(2 * kMediumMax);
    std::mt19937 random(1);
    for (unsigned char& byte : result) byte = static_cast<unsigned char>(random());
    return result;
  }();
  return bytes;
}

inline const unsigned char* content_of(const Piece& piece) {
  return &noise()[piece.mark % kMediumMax];
}

inline void fill(const Piece& piece) { std::memcpy(piece.block, content_of(piece), piece.size); }

inline bool is_whole(const Piece& piece) {
  return std::memcmp(piece.block, content_of(piece), piece.size) == 0;
}

inline bool is_zero(const unsigned char* block, std::size_t size) {
  static const std::vector<unsigned char> zeros(kMediumMax);
  return std::memcmp(block, zeros.data(), size) == 0;
}

// Makes a block and fills it to the last byte of its size class.
inline Piece make(std::size_t size, std::uint64_t number) {
  Piece piece{static_cast<unsigned char*>(allocate(size)), size, number * 0xd1342543de82ef95U};
  EXPECT_NE(piece.block, nullptr);
  piece.size = usable_size(piece.block);
  fill(piece);
  return piece;
}

inline Span* slab_of(const void* block) { return slab_head(find_span(block)); }

inline bool is_resident(const void* page) {
  unsigned char answer = 0;
  const auto system_page = std::size_t(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(mincore(const_cast<void*>(page), system_page, &answer), 0);
  return (answer & 1) != 0;
}

inline bool says_decommitted(const Span* slab, std::size_t offset) {
  const Span* unit = find_span(slab->start() + offset);
  const unsigned bits = unsigned(unit->decommitted.pages) >> (offset % kUnit / 4096);
  const unsigned whole = (1U << (os::page_size() / 4096)) - 1;
  EXPECT_TRUE((bits & whole) == 0 || (bits & whole) == whole)
      << "only a part of a page is decommitted";
  return (bits & 1) != 0;
}

inline void expect_sound(const Span* slab) {
  const SizeClass& layout = slab->layout();
  const std::size_t page = os::page_size();
  const auto is_decommitted = [&](std::size_t block) {
    const std::size_t begin = block * layout.block_size / page * page;
    for (std::size_t at = begin; at < (block + 1) * layout.block_size; at += page) {
      if (says_decommitted(slab, at)) return true;
    }
    return false;
  };
  const std::size_t carved = slab->blocks.carved.get();
  std::size_t decommitted = 0;
  for (std::size_t i = 0; i < carved; ++i) decommitted += is_decommitted(i) ? 1 : 0;
  std::size_t listed = 0;
  for (const Block* block = slab->blocks.freed; block != nullptr; block = block->next) {
    const auto offset = std::size_t(reinterpret_cast<const char*>(block) - slab->start());
    ASSERT_EQ(offset % layout.block_size, 0U);
    ASSERT_LT(offset / layout.block_size, carved);
    ASSERT_FALSE(is_decommitted(offset / layout.block_size))
        << "a block of the free list is decommitted";
    ASSERT_LE(++listed, carved) << "the free list is circular";
  }
  ASSERT_EQ(slab->decommitted.blocks, decommitted);
  ASSERT_EQ(slab->blocks.used.get() + listed + decommitted, carved);
  ASSERT_LE(carved, layout.capacity);
  for (std::size_t at = 0; at < slab->units * kUnit; at += page) {
    if (says_decommitted(slab, at)) {
      ASSERT_FALSE(is_resident(slab->start() + at));
    }
  }
}

inline void expect_all_sound(const Heap& heap) {
  for (const Bin& bin : heap.bins) {
    for (const SlabList* list : {&bin.available, &bin.full}) {
      for (const Span* slab = list->first; slab != nullptr; slab = slab->next) {
        ASSERT_NO_FATAL_FAILURE(expect_sound(slab));
      }
    }
  }
}

inline std::set<std::uintptr_t> pages_of(const std::vector<Piece>& pieces) {
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

// Checks that in the slabs of these pieces only the pages under the pieces are resident.
inline void expect_only_resident(const std::vector<Piece>& pieces) {
  const std::set<std::uintptr_t> held = pages_of(pieces);
  std::set<Span*> slabs;
  for (const Piece& piece : pieces) slabs.insert(slab_of(piece.block));
  for (const Span* slab : slabs) {
    const SizeClass& layout = slab->layout();
    const std::size_t blocks = std::size_t(layout.capacity) * layout.block_size;
    for (std::size_t at = 0; at < slab->units * kUnit; at += os::page_size()) {
      // A purge does not visit full slabs, so what follows their blocks may be left from before.
      if (at >= blocks && slab->blocks.used.get() == layout.capacity) break;
      const char* page = slab->start() + at;
      ASSERT_EQ(is_resident(page), held.count(address_of(page)) != 0)
          << "page " << at / os::page_size() << " of a slab of " << layout.block_size;
    }
  }
}

// Checks that decommitted pages, and no others, are missing in the footprint.
inline void expect_counted() {
  const Stats s = stats();
  ASSERT_EQ(s.footprint, s.mapped - s.uncommitted + s.metadata);
}

class SlabPagesTest : public testing::Test {
 protected:
  void SetUp() override {
    deallocate(allocate(1));  // makes the thread's heap
    // The tests read slabs and the orphan heap, which the helper thread would change meanwhile.
    // relaxed: no other thread runs yet
    options.helper_thread.store(HelperThread::kNever, std::memory_order_relaxed);
    trim(0);
    live_before_ = stats().live;
  }
  void TearDown() override {
    os::fake::refuse({});
    trim(0);
    os::fake::pretend_page_size(0);
    expect_counted();
    EXPECT_EQ(stats().live, live_before_) << "the test leaked a block, or the allocator lost one";
    EXPECT_EQ(this_heap->empty_units, 0U);
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }

 private:
  std::size_t live_before_ = 0;
};

// Makes enough blocks for a few slabs and frees those that `keeps` rejects.
inline std::vector<Piece> thin_out(std::size_t size,
                                   const std::function<bool(std::size_t)>& keeps) {
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

inline void expect_whole(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) ASSERT_TRUE(is_whole(piece));
}

inline void free_all(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) deallocate(piece.block);
}

}  // namespace corbel::alloc
