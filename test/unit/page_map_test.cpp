// SPDX-License-Identifier: Apache-2.0
// The page map: any pointer may be looked up, and units that were covered have descriptors.
#include "alloc/page_map.hpp"

#include <gtest/gtest.h>

#include <random>

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
  constexpr std::size_t kUnits = 100;
  auto* memory = static_cast<char*>(os::map(kUnits * kUnit, kUnit, nullptr));
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

// A range that lies across the border of two leaves. Only its descriptors are asked for: nothing
// needs to be mapped there.
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

TEST(PageMap, VisitFindsWhatWasCovered) {
  const std::uintptr_t place = (std::uintptr_t{7} << kLeafBits) + 40 * kUnit;
  ASSERT_EQ(cover_with_spans(pointer_to(place), 3 * kUnit), Cover::kDone);
  struct Seen {
    std::uintptr_t place;
    int count;
  } seen{place, 0};
  visit_spans(
      [](void* context, const Span& span, void* address) {
        auto* s = static_cast<Seen*>(context);
        EXPECT_EQ(find_span(address), &span);
        const std::uintptr_t a = address_of(address);
        if (a >= s->place && a < s->place + 3 * kUnit) ++s->count;
      },
      &seen);
  EXPECT_EQ(seen.count, 3);
}

}  // namespace
}  // namespace corbel::alloc
