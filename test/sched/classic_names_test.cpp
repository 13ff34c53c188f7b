// SPDX-License-Identifier: Apache-2.0
// Small parts of the interface of TBB 2020, and the assertion handler of both TBB versions.
#include <gtest/gtest.h>
#include <tbb/blocked_rangeNd.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/compat/ppl.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/tbb_allocator.h>
#include <tbb/tbb_config.h>
#include <tbb/tbb_stddef.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

TEST(ClassicContext, TakesPrioritiesAndExceptions) {
  tbb::task_group_context context;
  context.set_priority(tbb::priority_high);
  EXPECT_EQ(context.priority(), tbb::priority_normal);
  tbb::task_group group(context);
  try {
    throw 5;
  } catch (...) {
    context.register_pending_exception();
  }
  EXPECT_TRUE(context.is_group_execution_cancelled());
  EXPECT_THROW(group.wait(), int);
}

TEST(ClassicNames, NumberedNamespaces) {
  static_assert(std::is_same<tbb::interface7::task_arena, tbb::task_arena>::value, "");
  static_assert(std::is_same<tbb::interface9::task_group, tbb::task_group>::value, "");
  EXPECT_GT(tbb::interface7::this_task_arena::max_concurrency(), 0);
}

TEST(ClassicNames, RangesOfManyDimensions) {
  const tbb::blocked_rangeNd<int, 2> range({0, 4}, {0, 5, 2});
  EXPECT_EQ(range.ndims(), 2u);
  EXPECT_EQ(range.dim(1).grainsize(), 2u);
}

TEST(ClassicNames, HashOfManyTypes) {
  EXPECT_EQ(tbb::tbb_hash<int>()(7), tbb::tbb_hash<int>()(7));
  EXPECT_NE(tbb::tbb_hash<int>()(7), tbb::tbb_hash<int>()(8));
  int object = 0;
  EXPECT_EQ(tbb::tbb_hash<int*>()(&object), tbb::tbb_hasher(&object));
  EXPECT_EQ(tbb::tbb_hash<std::string>()("text"), tbb::tbb_hasher(std::string("text")));
  EXPECT_NE(tbb::tbb_hasher(std::string("ab")), tbb::tbb_hasher(std::string("ba")));
  using Pair = std::pair<int, std::string>;
  EXPECT_NE(tbb::tbb_hash<Pair>()(Pair(1, "a")), tbb::tbb_hash<Pair>()(Pair(2, "a")));
  EXPECT_NE(tbb::tbb_hasher(std::make_pair(1, 2)), tbb::tbb_hasher(std::make_pair(2, 1)));
  const std::unordered_set<long, tbb::tbb_hash<long>> set{1, 2, 3, 2};
  EXPECT_EQ(set.size(), 3u);
}

// Types of a program: one converts to a number, one has an overload.
struct Number {
  explicit operator std::size_t() const { return 5; }
};
struct Point {
  int x;
};
std::size_t tbb_hasher(const Point& p) { return static_cast<std::size_t>(p.x) + 1000; }

TEST(ClassicNames, HashOfTheProgramsTypes) {
  EXPECT_EQ(tbb::tbb_hash<Number>()(Number()), tbb::tbb_hasher(std::size_t{5}));
  EXPECT_EQ(tbb::tbb_hash<Point>()(Point{4}), 1004u);
}

// A type with an & of its own.
struct Disguised {
  int value = 0;
  int operator&() const { return -1; }
};

template <typename Allocator>
void check_members() {
  using T = typename Allocator::value_type;
  Allocator allocator;
  typename Allocator::pointer const block = allocator.allocate(3, nullptr);
  allocator.construct(block, T{7});
  typename Allocator::reference object = *block;
  typename Allocator::const_reference same = object;
  EXPECT_EQ(allocator.address(object), block);
  EXPECT_EQ(allocator.address(same), block);
  EXPECT_EQ(block->value, 7);
  allocator.destroy(block);
  allocator.deallocate(block, 3);
  EXPECT_GT(allocator.max_size(), 3u);
}

TEST(ClassicAllocators, HaveTheMembersOfTheirTime) {
  struct Item {
    int value;
  };
  check_members<tbb::tbb_allocator<Item>>();
  check_members<tbb::cache_aligned_allocator<Item>>();
  check_members<tbb::zero_allocator<Item>>();
  Disguised disguised;
  EXPECT_EQ(tbb::tbb_allocator<Disguised>().address(disguised), std::addressof(disguised));
}

template <typename Allocator>
void check_zero() {
  Allocator allocator;
  for (int round = 0; round < 3; ++round) {
    const auto block = allocator.allocate(1000);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(block[i], 0);
    std::memset(block, 0xff, 1000 * sizeof *block);
    allocator.deallocate(block, 1000);
  }
}

TEST(ClassicAllocators, ZeroAllocator) {
  check_zero<tbb::zero_allocator<long>>();
  check_zero<tbb::zero_allocator<char, tbb::cache_aligned_allocator>>();
  const tbb::zero_allocator<long> longs;
  const tbb::zero_allocator<int> ints(longs);
  EXPECT_TRUE(longs == ints);
  EXPECT_FALSE(longs != ints);
  using OfVoid = tbb::zero_allocator<void>;
  static_assert(std::is_same<OfVoid::rebind<int>::other, tbb::zero_allocator<int>>::value, "");
  std::vector<std::string, tbb::zero_allocator<std::string>> texts(5, "text");
  texts.resize(100, "more");
  EXPECT_EQ(texts[0] + texts[99], "textmore");
}

TEST(ClassicNames, PartOfThePatternsLibrary) {
  std::atomic<int> calls{0};
  const auto f = [&] { ++calls; };
  auto handle = Concurrency::make_task(f);
  Concurrency::task_handle<decltype(f)> second(f);
  Concurrency::structured_task_group group;
  group.run(handle);
  EXPECT_EQ(group.run_and_wait(second), Concurrency::complete);
  Concurrency::parallel_for(0, 10, [&](int) { ++calls; });
  Concurrency::parallel_invoke(f, f);
  EXPECT_EQ(calls, 14);
  Concurrency::critical_section section;
  const Concurrency::critical_section::scoped_lock lock(section);
  EXPECT_FALSE(Concurrency::is_current_task_group_canceling());
}

int handled = 0;
void handle(const char*, int, const char*, const char*) { ++handled; }

TEST(AssertionHandler, IsSetAndReset) {
  const tbb::assertion_handler_type first = tbb::get_assertion_handler();
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(tbb::set_assertion_handler(&handle), first);
  EXPECT_EQ(tbb::get_assertion_handler(), &handle);
  tbb::get_assertion_handler()("file", 1, "condition", "what");
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(tbb::ext::set_assertion_handler(nullptr), &handle);
  EXPECT_EQ(tbb::get_assertion_handler(), first);
}

}  // namespace
