// SPDX-License-Identifier: Apache-2.0
// scalable_allocator, cache_aligned_allocator and tbb_allocator, by their corbel and tbb names.
#include <gtest/gtest.h>
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/scalable_allocator.h>
#include <tbb/tbb_allocator.h>

#include <climits>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "allocate_alignments.hpp"

namespace {

static_assert(std::is_same<tbb::scalable_allocator<int>, corbel::scalable_allocator<int>>::value,
              "one class, two names");
static_assert(std::is_same<oneapi::tbb::cache_aligned_allocator<int>,
                           corbel::cache_aligned_allocator<int>>::value,
              "three names");

using test::aligned;

struct alignas(256) Wide {
  char bytes[256];
};

template <typename Allocator>
class AllocatorTest : public testing::Test {};

using Allocators = testing::Types<corbel::scalable_allocator<int>,
                                  corbel::cache_aligned_allocator<int>, corbel::tbb_allocator<int>>;
TYPED_TEST_SUITE(AllocatorTest, Allocators);

template <typename A, typename T>
using Rebound = typename std::allocator_traits<A>::template rebind_alloc<T>;

TYPED_TEST(AllocatorTest, HasTheMembersOfTheStandard) {
  using Traits = std::allocator_traits<TypeParam>;
  static_assert(std::is_same<typename TypeParam::value_type, int>::value, "value_type");
  static_assert(std::is_same<typename Traits::pointer, int*>::value, "pointer");
  static_assert(std::is_same<typename TypeParam::size_type, std::size_t>::value, "size_type");
  static_assert(std::is_same<typename TypeParam::difference_type, std::ptrdiff_t>::value,
                "difference_type");
  static_assert(TypeParam::is_always_equal::value, "is_always_equal");
  static_assert(Traits::propagate_on_container_move_assignment::value, "moves with the container");
  static_assert(!Traits::propagate_on_container_copy_assignment::value, "default");
  static_assert(!Traits::propagate_on_container_swap::value, "default");
  static_assert(std::is_empty<TypeParam>::value, "costs a container nothing");
  static_assert(std::is_nothrow_default_constructible<TypeParam>::value, "noexcept");
  static_assert(std::is_nothrow_copy_constructible<TypeParam>::value, "noexcept");
  static_assert(std::is_same<typename TypeParam::template rebind<char>::other,
                             Rebound<TypeParam, char>>::value,
                "rebind");
}

// The members that the standard took away in C++20, which TBB 2020 had.
TYPED_TEST(AllocatorTest, HasTheMembersOfOlderStandards) {
  using Texts = Rebound<TypeParam, std::string>;
  Texts allocator;
  typename Texts::pointer const block = allocator.allocate(2, nullptr);
  allocator.construct(block, 3, 'x');
  typename Texts::reference object = *block;
  typename Texts::const_reference same = object;
  EXPECT_EQ(object, "xxx");
  EXPECT_EQ(allocator.address(object), block);
  EXPECT_EQ(allocator.address(same), block);
  allocator.destroy(block);
  allocator.deallocate(block, 2);
}

TYPED_TEST(AllocatorTest, VoidSpecialisationRebinds) {
  using Void = Rebound<TypeParam, void>;
  static_assert(std::is_same<typename Void::value_type, void>::value, "void");
  static_assert(std::is_same<typename Void::template rebind<int>::other, TypeParam>::value, "back");
  const Void none = TypeParam();
  const TypeParam back(none);
  EXPECT_TRUE(back == none);
}

TYPED_TEST(AllocatorTest, AllAreEqual) {
  const TypeParam a, b;
  const Rebound<TypeParam, char> c(a);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a != b);
  EXPECT_TRUE(a == c);
  EXPECT_FALSE(c != a);
}

TYPED_TEST(AllocatorTest, OneFreesBlocksOfAnother) {
  TypeParam a;
  int* p = a.allocate(1000);
  p[999] = 7;
  TypeParam b;
  b.deallocate(p, 1000);
}

TYPED_TEST(AllocatorTest, ZeroObjectsGiveAPointer) {
  TypeParam a;
  int* p = a.allocate(0);
  EXPECT_NE(p, nullptr);
  a.deallocate(p, 0);
}

TYPED_TEST(AllocatorTest, OverAlignedTypesAreAligned) {
  Rebound<TypeParam, Wide> a;
  for (std::size_t n : {1, 2, 3, 100}) {
    Wide* p = a.allocate(n);
    EXPECT_TRUE(aligned(p, 256));
    a.deallocate(p, n);
  }
}

TYPED_TEST(AllocatorTest, MaxSizeIsTheLargestThatFits) {
  EXPECT_EQ(TypeParam().max_size(), static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(int));
}

TYPED_TEST(AllocatorTest, ExhaustionThrowsBadAlloc) {
  TypeParam a;
  std::set_new_handler(nullptr);
  EXPECT_THROW(a.allocate(a.max_size() - 4096), std::bad_alloc);
  EXPECT_THROW(a.allocate(a.max_size() + 1), std::bad_alloc);
  EXPECT_THROW(a.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(a.allocate(SIZE_MAX / sizeof(int) + 2), std::bad_alloc);
}

int handler_calls;
struct FromHandler {};

TYPED_TEST(AllocatorTest, NewHandlerIsCalledUntilItGivesUp) {
  handler_calls = 0;
  std::set_new_handler([] {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
  });
  TypeParam a;
  EXPECT_THROW(a.allocate(a.max_size() - 4096), std::bad_alloc);
  EXPECT_EQ(handler_calls, 3);
}

TYPED_TEST(AllocatorTest, ExceptionsOfTheNewHandlerPropagate) {
  std::set_new_handler([] { throw FromHandler(); });
  TypeParam a;
  EXPECT_THROW(a.allocate(a.max_size() - 4096), FromHandler);
  std::set_new_handler(nullptr);
}

TYPED_TEST(AllocatorTest, ServesTheContainers) {
  std::vector<int, TypeParam> vector;
  for (int i = 0; i < 100000; ++i) vector.push_back(i);
  EXPECT_EQ(vector[77777], 77777);
  std::vector<int, TypeParam> moved = std::move(vector);
  EXPECT_EQ(moved.size(), 100000U);

  std::list<int, TypeParam> list(moved.begin(), moved.begin() + 1000);
  list.sort(std::greater<int>());
  EXPECT_EQ(list.front(), 999);

  using Pair = std::pair<const int, int>;
  std::map<int, int, std::less<int>, Rebound<TypeParam, Pair>> map;
  std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, Rebound<TypeParam, Pair>> hash;
  for (int i = 0; i < 10000; ++i) map[i] = hash[i] = i * 3;
  EXPECT_EQ(map.at(5000), 15000);
  EXPECT_EQ(hash.at(5000), 15000);

  using Char = Rebound<TypeParam, char>;
  std::basic_string<char, std::char_traits<char>, Char> string(5000, 'x');
  string += string;
  EXPECT_EQ(string.size(), 10000U);
  const auto shared = std::allocate_shared<std::string>(TypeParam(), "shared");
  EXPECT_EQ(*shared, "shared");
}

TEST(CacheAlignedAllocator, StartsOnACacheLineOfItsOwn) {
  corbel::cache_aligned_allocator<char> a;
  std::vector<char*> blocks;
  for (std::size_t n : {0, 1, 7, 63, 64, 65, 1000, 100000}) {
    char* p = a.allocate(n);
    EXPECT_TRUE(aligned(p, 64)) << n;
    blocks.push_back(p);
  }
  for (char* p : blocks) a.deallocate(p, 0);
}

TEST(CorbelAllocate, Alignments) { test::expect_alignments(); }

TEST(TbbAllocator, ReportsThatItIsScalable) {
  EXPECT_EQ(tbb::tbb_allocator<int>::allocator_type(), tbb::tbb_allocator<int>::scalable);
  EXPECT_NE(tbb::tbb_allocator<int>::scalable, tbb::tbb_allocator<int>::standard);
}

}  // namespace
