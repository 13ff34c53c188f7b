// SPDX-License-Identifier: Apache-2.0
// The page map: any pointer may be looked up, and units of covered ranges have descriptors.
#include "alloc/map/page_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "os/os.hpp"

namespace corbel::alloc {
namespace {

std::uintptr_t tag_of(const Span* span) {
  return span == nullptr ? span_tag::kForeign : span->tag();
}

TEST(PageMap, AnyPointerMayBeLookedUp) {
  EXPECT_EQ(tag_of(find_span(nullptr)), span_tag::kForeign);
  EXPECT_EQ(tag_of(find_span(pointer_to(UINTPTR_MAX))), span_tag::kForeign);
  int on_the_stack = 0;
  EXPECT_EQ(tag_of(find_span(&on_the_stack)), span_tag::kForeign);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) EXPECT_EQ(tag_of(find_span(pointer_to(random()))), 0U);
}

TEST(PageMap, EveryUnitOfACoveredRangeHasItsOwnDescriptor) {
  constexpr std::size_t kUnits = 128;
  // Aligned, so that it lies in one leaf: only within a leaf do descriptors follow each other.
  auto* memory = static_cast<char*>(os::map(kUnits * kUnit, kUnits * kUnit, nullptr));
  ASSERT_NE(memory, nullptr);
  ASSERT_EQ(cover_with_spans(memory, kUnits * kUnit), Cover::kDone);
  EXPECT_GT(page_map_bytes(), 0U);
  for (std::size_t i = 0; i < kUnits; ++i) {
    const Span* first = find_span(memory + i * kUnit);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(find_span(memory + i * kUnit + kUnit - 1), first);
    EXPECT_EQ(first, find_span(memory) + i);
  }
  EXPECT_TRUE(os::unmap(memory, kUnits * kUnit));
}

// A range across the border of two leaves. The test only asks for its descriptors: nothing has to
// be mapped there.
TEST(PageMap, RangesMayCrossLeaves) {
  const std::uintptr_t border = std::uintptr_t{5} << kLeafBits;
  ASSERT_EQ(cover_with_spans(pointer_to(border - kUnit), 2 * kUnit), Cover::kDone);
  const Span* before = find_span(pointer_to(border - 1));
  const Span* behind = find_span(pointer_to(border));
  ASSERT_NE(before, nullptr);
  ASSERT_NE(behind, nullptr);
  EXPECT_NE(before, behind);
}

TEST(PageMap, AddressesAboveTheMapAreRefused) {
  EXPECT_EQ(cover_with_spans(pointer_to(UINTPTR_MAX - 16 * kUnit + 1), kUnit), Cover::kNone);
}

struct Seen {
  std::uintptr_t place;
  std::size_t length;  // how many bytes one visit covers
  std::vector<std::uintptr_t> visited;
};

void walk(Seen* seen, std::size_t units) {
  const std::uintptr_t end = seen->place + units * kUnit;
  struct Context {
    Seen* seen;
    std::uintptr_t end;
  } context{seen, end};
  walk_spans(
      [](void* argument, const Span& span, void* address) -> std::size_t {
        auto* c = static_cast<Context*>(argument);
        EXPECT_EQ(find_span(address), &span);
        const std::uintptr_t a = address_of(address);
        if (a < c->seen->place || a >= c->end) return 1;
        c->seen->visited.push_back(a);
        return c->seen->length;
      },
      &context);
}

TEST(PageMap, WalkFindsWhatWasCovered) {
  const std::uintptr_t place = (std::uintptr_t{7} << kLeafBits) + 40 * kUnit;
  ASSERT_EQ(cover_with_spans(pointer_to(place), 3 * kUnit), Cover::kDone);
  Seen seen{place, 1, {}};
  walk(&seen, 3);
  EXPECT_EQ(seen.visited, (std::vector<std::uintptr_t>{place, place + kUnit, place + 2 * kUnit}));
}

TEST(PageMap, WalkSkipsWhatAVisitCovered) {
  const std::uintptr_t place = (std::uintptr_t{9} << kLeafBits) - 3 * kUnit;
  ASSERT_EQ(cover_with_spans(pointer_to(place), 8 * kUnit), Cover::kDone);
  Seen seen{place, 5, {}};
  walk(&seen, 8);
  EXPECT_EQ(seen.visited, (std::vector<std::uintptr_t>{place, place + 5 * kUnit}))
      << "across the border of two leaves, and past the end of the second";
}

}  // namespace
}  // namespace corbel::alloc
