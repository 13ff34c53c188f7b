// SPDX-License-Identifier: Apache-2.0
// The span heap on the fake operating system: cutting, coalescing, alignment, growing in place,
// purging, and refusals of the system.
#include "alloc/pages/span_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "alloc/map/footprint.hpp"
#include "alloc/policy/heap_limit.hpp"
#include "os/fake/fake.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

std::uintptr_t tag_of(const void* address) { return find_span(address)->tag(); }

bool reads_zero(const Span* span) {
  const char* p = span->start();
  const std::size_t size = span->units * kUnit;
  return p[0] == 0 && std::memcmp(p, p + 1, size - 1) == 0;
}

class SpanHeapTest : public testing::Test {
 protected:
  // A process has one span heap, because neighbouring spans find each other in the page map.
  void TearDown() override {
    os::fake::refuse({});
    span_heap.unmap_all();
    const SpanFigures figures = span_heap.figures();
    EXPECT_EQ(figures.mapped_units, figures.free_units) << "a test kept a span";
    EXPECT_EQ(figures.mapped_units, 0U) << "unmap_all() left something";
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }

  static Span* take(std::size_t units, std::size_t align_units = 1) {
    Span* span = span_heap.allocate(units, align_units);
    EXPECT_NE(span, nullptr);
    if (span == nullptr) return nullptr;
    EXPECT_EQ(span->units, units);
    EXPECT_EQ(span->unit % align_units, 0U);
    EXPECT_TRUE(os::fake::is_mapped(span->start(), units * kUnit));
    for (std::size_t i = 0; i < units; ++i) {
      EXPECT_EQ(tag_of(span->start() + i * kUnit), span_tag::kInterior);
    }
    return span;
  }

  static bool grow(Span* span, std::size_t units) {
    std::size_t shortage = 0;
    return span_heap.grow(span, units, &shortage);
  }

  static void give(Span* span) {
    span->zeroed = false;
    span_heap.free(span);
  }
};

TEST_F(SpanHeapTest, FreshMemoryIsZeroed) {
  Span* span = take(10);
  EXPECT_TRUE(span->zeroed);
  EXPECT_TRUE(reads_zero(span));
  give(span);
}

TEST_F(SpanHeapTest, ThreeNeighboursCoalesceInAnyOrder) {
  const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    Span* whole = take(30);
    char* start = whole->start();
    span_heap.free(whole);
    Span* parts[] = {take(10), take(10), take(10)};
    for (int i : order) give(parts[i]);
    Span* again = take(30);
    // The three were cut from the front of one span, so the coalesced span starts where it did.
    EXPECT_EQ(again->start(), start);
    give(again);
  }
}

TEST_F(SpanHeapTest, FreedMemoryIsUsedBeforeTheSystemIsAsked) {
  give(take(64));
  const std::uint64_t calls = os::fake::figures().map_calls;
  for (int i = 0; i < 100; ++i) {
    std::vector<Span*> spans;
    for (std::size_t units = 1; units <= 10; ++units) spans.push_back(take(units));
    for (Span* span : spans) give(span);
  }
  EXPECT_EQ(os::fake::figures().map_calls, calls);
}

TEST_F(SpanHeapTest, APartOfAFreeSpanIsTakenWhereItIsDirty) {
  Span* whole = take(30);
  char* const start = whole->start();
  span_heap.free(whole);
  Span* first = take(10);
  Span* second = take(10);
  ASSERT_EQ(first->start(), start);
  give(second);           // units 10 to 19 are dirty
  span_heap.free(first);  // the others are clean
  Span* taken = take(10);
  EXPECT_EQ(taken->start(), start + 10 * kUnit);
  EXPECT_FALSE(taken->zeroed);
  give(taken);
}

TEST_F(SpanHeapTest, AlignmentsUpToAGibibyte) {
  for (std::size_t align = 1; align <= (std::size_t{1} << 30) / kUnit; align *= 2) {
    Span* odd = take(1);  // keeps free memory from being aligned by chance
    Span* span = take(3, align);
    std::memset(span->start(), 1, 3 * kUnit);
    give(odd);
    give(span);
  }
}

TEST_F(SpanHeapTest, GrowsIntoTheFreeSpanAfterIt) {
  Span* whole = take(40);
  span_heap.free(whole);
  Span* span = take(10);
  Span* wall = take(5);
  EXPECT_FALSE(grow(span, 11)) << "another span is in the way";
  char* start = span->start();
  give(wall);
  EXPECT_TRUE(grow(span, 25));
  EXPECT_EQ(span->start(), start);
  EXPECT_EQ(span->units, 25U);
  EXPECT_FALSE(grow(span, std::size_t{1} << 30));
  Span* other = take(5);
  EXPECT_TRUE(other->start() >= start + 25 * kUnit || other->start() < start);
  give(other);
  give(span);
}

TEST_F(SpanHeapTest, ShrinkFreesTheEnd) {
  Span* span = take(20);
  char* start = span->start();
  span_heap.shrink(span, 8, 0);
  EXPECT_EQ(span->units, 8U);
  EXPECT_TRUE(grow(span, 20));
  EXPECT_EQ(span->start(), start);
  give(span);
}

TEST_F(SpanHeapTest, PurgedSpansReadAsZeros) {
  Span* span = take(8);
  std::memset(span->start(), 0xee, 8 * kUnit);
  give(span);
  EXPECT_EQ(span_heap.figures().dirty_units, 8U);
  EXPECT_GE(span_heap.purge_all(0), 8 * kUnit);
  EXPECT_EQ(span_heap.figures().dirty_units, 0U);
  span = take(8);
  EXPECT_TRUE(span->zeroed);
  EXPECT_TRUE(reads_zero(span));
  give(span);
}

TEST_F(SpanHeapTest, MemoryIsNotTakenForZeroAfterARefusedPurge) {
  Span* span = take(8);
  std::memset(span->start(), 0xee, 8 * kUnit);
  os::fake::refuse({.decommits_in_1000 = 1000});
  give(span);
  span_heap.purge_all(0);
  os::fake::refuse({});
  span = take(8);
  EXPECT_TRUE(!span->zeroed || reads_zero(span));
  give(span);
}

TEST_F(SpanHeapTest, ARefusedUnmapKeepsTheMemory) {
  Span* span = take(128);
  std::memset(span->start(), 0xee, 128 * kUnit);
  span->zeroed = false;
  os::fake::refuse({.unmaps_in_1000 = 1000, .decommits_in_1000 = 1000});
  span_heap.free_and_unmap(span);
  os::fake::refuse({});
  span = take(128);
  EXPECT_TRUE(!span->zeroed || reads_zero(span));
  give(span);
}

// The system refuses a move across a border of mappings that was forgotten, and may lose the
// target.
TEST_F(SpanHeapTest, ARefusedUnmapKeepsWhereMappingsBegin) {
  Span* span = take(128);
  char* const start = span->start();
  find_span(start + 40 * kUnit)->set_begins_mapping(true);
  span->set_begins_mapping(false);
  os::fake::refuse({.unmaps_in_1000 = 1000});
  span_heap.free_and_unmap(span);
  EXPECT_TRUE(find_span(start + 40 * kUnit)->begins_mapping());
  EXPECT_FALSE(find_span(start + 41 * kUnit)->begins_mapping());
  EXPECT_TRUE(find_span(start)->begins_mapping())
      << "another chunk may lie directly below it by now";
}

// By the contract of os.hpp the content is unspecified after a refused unmap, even if it was zero
// before.
TEST_F(SpanHeapTest, MemoryIsNotTakenForZeroAfterARefusedUnmap) {
  Span* span = take(128);
  ASSERT_TRUE(span->zeroed);
  os::fake::refuse({.unmaps_in_1000 = 1000, .decommits_in_1000 = 1000});
  span_heap.free_and_unmap(span);
  os::fake::refuse({});
  span = take(128);
  EXPECT_TRUE(!span->zeroed || reads_zero(span));
  give(span);
}

TEST_F(SpanHeapTest, UnmapReleasesTheAddresses) {
  Span* span = take(128);
  char* start = span->start();
  span->zeroed = false;
  span_heap.free_and_unmap(span);
  EXPECT_FALSE(os::fake::is_mapped(start, 128 * kUnit));
  EXPECT_EQ(tag_of(start), span_tag::kForeign);
  EXPECT_EQ(tag_of(start + 127 * kUnit), span_tag::kForeign);
}

// No neighbour will ever join such a span, so only its unmapping frees its addresses.
TEST_F(SpanHeapTest, ASmallSpanBetweenUnmappedOnesIsUnmapped) {
  for (const bool is_clean : {false, true}) {
    for (const bool is_free_first : {false, true}) {
      Span* const whole = take(136);
      Span* const middle = find_span(whole->start() + 64 * kUnit);
      char* const start = middle->start();
      span_heap.free(whole);
      std::vector<Span*> parts;
      for (const std::size_t units : {64U, 8U, 64U}) parts.push_back(take(units));
      std::sort(parts.begin(), parts.end(),
                [](const Span* a, const Span* b) { return a->unit < b->unit; });
      ASSERT_EQ(parts[1], middle);
      const auto free_middle = [&] {
        is_clean ? void(span_heap.free_moved(middle, 0)) : give(middle);
      };
      if (is_free_first) free_middle();
      for (Span* const outer : {parts[0], parts[2]}) {
        outer->zeroed = false;
        span_heap.free_and_unmap(outer);
      }
      if (!is_free_first) free_middle();
      EXPECT_TRUE(span_heap.has_due_later());
      EXPECT_TRUE(os::fake::is_mapped(start, 8 * kUnit));
      EXPECT_EQ(span_heap.purge_all(0), is_clean ? 0 : 8 * kUnit);
      EXPECT_EQ(tag_of(start), span_tag::kForeign) << is_clean << is_free_first;
      EXPECT_FALSE(os::fake::is_mapped(start, 8 * kUnit));
      EXPECT_FALSE(span_heap.has_due_later());
    }
  }
}

TEST_F(SpanHeapTest, AnIslandThatTheSystemKeepsStaysUsable) {
  Span* const whole = take(136);
  span_heap.free(whole);
  Span* const left = take(64);
  Span* const middle = take(8);
  Span* const right = take(64);
  for (Span* const outer : {left, right}) {
    outer->zeroed = false;
    span_heap.free_and_unmap(outer);
  }
  span_heap.free_moved(middle, 0);
  const std::size_t mapped = span_heap.figures().mapped_units;
  os::fake::refuse({.unmaps_in_1000 = 1000, .decommits_in_1000 = 1000});
  span_heap.purge_all(0);
  os::fake::refuse({});
  EXPECT_EQ(span_heap.figures().mapped_units, mapped);
  Span* const again = take(8);
  EXPECT_TRUE(!again->zeroed || reads_zero(again));
  give(again);
}

// Linux allows a process some 65,000 mappings, and the program needs some of them.
TEST_F(SpanHeapTest, ManyHolesLeaveTheProgramItsMappings) {
  constexpr std::size_t kHoles = 6000;
  std::vector<Span*> holes;
  std::vector<Span*> walls;
  span_heap.free(take(33 * kHoles));
  for (std::size_t i = 0; i < kHoles; ++i) {
    holes.push_back(take(32));
    walls.push_back(take(1));
  }
  for (Span* const hole : holes) {
    hole->zeroed = false;
    span_heap.free_and_unmap(hole);
  }

  EXPECT_LE(span_heap.figures().areas, 4096U);
  EXPECT_LT(os::fake::figures().ranges, 4200U);
  // Neither do they exhaust what there is: the rest is in use again.
  os::fake::refuse({.max_ranges = os::fake::figures().ranges});
  const std::size_t mapped = span_heap.figures().mapped_units;
  for (std::size_t i = 0; i < 1000; ++i) holes[i] = take(32);
  EXPECT_EQ(span_heap.figures().mapped_units, mapped);
  for (std::size_t i = 0; i < 1000; ++i) give(holes[i]);
  os::fake::refuse({});
  for (Span* const wall : walls) give(wall);
  span_heap.unmap_all();
  EXPECT_EQ(span_heap.figures().areas, 0U);
}

TEST_F(SpanHeapTest, NullWhenTheSystemRefusesAndUsableAfterwards) {
  os::fake::refuse({.first_map = 1, .maps = 100});
  EXPECT_EQ(span_heap.allocate(std::size_t{1} << 14, 1), nullptr);
  EXPECT_EQ(span_heap.allocate(std::size_t{1} << 45, 1), nullptr)
      << "larger than the address space";
  os::fake::refuse({});
  give(take(std::size_t{1} << 10));
}

// At a limit, free memory of the wrong shape makes room for a mapping of the right one.
TEST_F(SpanHeapTest, FreeSpansAreGivenUpForALargerMapping) {
  Span* small = take(600);
  Span* wall = take(1);
  give(small);
  os::fake::refuse({.mapped_limit = os::fake::figures().mapped_bytes + 300 * kUnit});
  Span* large = take(800);
  if (large != nullptr) give(large);
  give(wall);
}

// While one thread waits for the system, other threads that need memory map only what they need: a
// crowd of threads must not multiply the mapped memory.
TEST_F(SpanHeapTest, OfThreadsThatNeedMemoryAtOnceOneMapsALargeChunk) {
  constexpr int kThreads = 8;
  static std::atomic<int> in_map;
  in_map = 0;
  // The next chunk is a sixteenth of this one.
  std::vector<Span*> spans(1 + kThreads);
  spans[0] = take(std::size_t{1} << 13);
  os::fake::at_map([](std::size_t) {
    ++in_map;
    while (in_map < kThreads) std::this_thread::yield();
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i <= kThreads; ++i) {
      threads.emplace_back([span = &spans[i]] { *span = span_heap.allocate(1, 1); });
    }
  }
  os::fake::at_map(nullptr);
  for (Span* span : spans) {
    ASSERT_NE(span, nullptr);
    give(span);
  }
  EXPECT_LT(span_heap.figures().mapped_units, std::size_t{1} << 13 | std::size_t{1} << 10);
}

// Other threads change the footprint without the span heap's lock, at any point of the purge.
TEST_F(SpanHeapTest, PurgingWhileOthersMoveTheFootprintAcrossTheTarget) {
  constexpr std::size_t kLoad = std::size_t{64} << 20;
  const std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      footprint.commit(kLoad);
      footprint.release(kLoad);
    }
  });
  for (int round = 0; round < 12000; ++round) {
    std::vector<Span*> spans;
    for (int i = 0; i < 4; ++i) spans.push_back(take(40));
    const std::size_t target = footprint.bytes() / 2 + kLoad / 2;
    give(spans[0]);
    give(spans[2]);
    span_heap.purge_down_to(target, nullptr);
    spans[0] = take(30);
    spans[2] = take(30);
    std::sort(spans.begin(), spans.end(),
              [](const Span* a, const Span* b) { return a->start() < b->start(); });
    for (std::size_t i = 1; i < spans.size(); ++i) {
      ASSERT_GE(spans[i]->start(), spans[i - 1]->start() + spans[i - 1]->units * kUnit);
    }
    for (Span* span : spans) give(span);
  }
}

// Only a part of a free span may be committed. If there is no room to commit more, that part is
// used.
TEST_F(SpanHeapTest, AtTheLimitTheCommittedPartOfAFreeSpanIsUsed) {
  Span* const first_chunk = take(16);  // smaller than the next ones
  Span* const whole = take(40);
  const char* const start = whole->start();
  give(whole);
  span_heap.purge_all(0);
  for (const std::size_t counted : {0, 10, 20, 30}) {
    Span* parts[4];
    for (Span*& part : parts) part = take(10);
    std::sort(std::begin(parts), std::end(parts),
              [](const Span* a, const Span* b) { return a->start() < b->start(); });
    ASSERT_EQ(parts[0]->start(), start);
    for (std::size_t i = 0; i < 4; ++i) {
      i * 10 == counted ? give(parts[i]) : void(span_heap.free_moved(parts[i], 0));
    }
    heap_limit.set(footprint.bytes(), 0);
    SpanRequest request{.units = 10};
    Span* span = span_heap.allocate(request);
    heap_limit.set(0, 0);
    ASSERT_NE(span, nullptr) << request.shortage;
    EXPECT_EQ(span->start(), start + counted * kUnit);
    give(span);
    span_heap.purge_all(0);
  }
  give(first_chunk);
}

struct Held {
  Span* span;
  unsigned char mark;
};

void random_operations(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Held> held;
  const auto release = [&](std::size_t i) {
    Span* span = held[i].span;
    for (std::size_t u = 0; u < span->units; ++u) {
      const char* p = span->start() + u * kUnit;
      ASSERT_EQ(static_cast<unsigned char>(p[0]), held[i].mark);
      ASSERT_EQ(static_cast<unsigned char>(p[kUnit - 1]), held[i].mark);
    }
    span->zeroed = false;
    if (random() % 16 == 0) {
      span_heap.free_and_unmap(span);
    } else if (span_heap.free(span)) {
      span_heap.purge_due();
    }
    held[i] = held.back();
    held.pop_back();
  };
  for (int step = 0; step < 8000; ++step) {
    if (held.size() > 60 || (random() % 2 == 0 && !held.empty())) {
      release(random() % held.size());
      continue;
    }
    if (random() % 64 == 0) span_heap.purge_all(random() % (64 * kUnit));
    if (random() % 256 == 0) span_heap.unmap_all();
    const std::size_t units = random() % 8 == 0 ? 1 + random() % 300 : 1 + random() % 20;
    Span* span = span_heap.allocate(units, std::size_t{1} << (random() % 6));
    if (span == nullptr) continue;
    ASSERT_EQ(span->units, units);
    ASSERT_TRUE(!span->zeroed || reads_zero(span));
    const auto mark = static_cast<unsigned char>(1 + random() % 255);
    for (std::size_t u = 0; u < units; ++u) {
      span->start()[u * kUnit] = static_cast<char>(mark);
      span->start()[u * kUnit + kUnit - 1] = static_cast<char>(mark);
    }
    held.push_back({span, mark});
  }
  while (!held.empty()) release(held.size() - 1);
}

TEST_F(SpanHeapTest, RandomOperations) { random_operations(1); }

TEST_F(SpanHeapTest, RandomOperationsOnASystemThatRefusesAtRandom) {
  os::fake::refuse({.maps_in_1000 = 300,
                    .unmaps_in_1000 = 300,
                    .decommits_in_1000 = 300,
                    .moves_in_1000 = 300,
                    .seed = 7});
  random_operations(2);
}

}  // namespace
}  // namespace corbel::alloc
