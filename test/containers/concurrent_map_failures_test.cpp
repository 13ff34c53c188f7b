// SPDX-License-Identifier: Apache-2.0
// The ordered containers when a constructor, a comparison or the allocator throws, at the n-th call
// for every n: nothing is lost, nothing leaks. And how they use their allocator.
#include <gtest/gtest.h>
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_set.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "element_counts.hpp"

namespace corbel::test {
namespace {

using element = std::pair<const counted_int, counted_int>;
template <bool kPropagates>
using map_with = tbb::concurrent_map<counted_int, counted_int, std::less<counted_int>,
                                     counting_allocator<element, kPropagates>>;
using map = map_with<false>;
using multimap = tbb::concurrent_multimap<counted_int, counted_int, std::less<counted_int>,
                                          counting_allocator<element>>;

template <typename Map>
std::vector<std::pair<int, int>> contents(const Map& m) {
  std::vector<std::pair<int, int>> all;
  for (const auto& e : m) all.emplace_back(e.first.value, e.second.value);
  EXPECT_EQ(all.size(), m.size());
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
  return all;
}

class ConcurrentMapFailures : public testing::Test {
 protected:
  ~ConcurrentMapFailures() override {
    EXPECT_EQ(counts.blocks, 0);
    EXPECT_EQ(counts.bytes, 0);
    EXPECT_EQ(counts.objects, 0);
    EXPECT_EQ(counted_int::alive, 0);
  }

  // Calls run() with the fuse at 1, 2, 3, ... until none fails; after() after each
  // failure.
  template <typename Run, typename After>
  static void for_each_failure(Run run, After after) {
    for (int n = 1;; ++n) {
      fuse::set(n);
      bool has_failed = false;
      try {
        run();
      } catch (const std::runtime_error&) {
        has_failed = true;
      }
      const bool was_burning = fuse::is_set();
      fuse::set(0);
      if (!has_failed) {
        EXPECT_TRUE(was_burning) << "an exception is lost";
        return;
      }
      after();
      ASSERT_LT(n, 10000);
    }
  }

  template <typename Map>
  Map filled(int count) {
    Map m{counting_allocator<element>(counts)};
    for (int i = 0; i < count; ++i) m.emplace(i * 37 % 101, i);
    return m;
  }

  allocation_counts counts;
};

TEST_F(ConcurrentMapFailures, AnInsertionThatThrowsHasNoEffect) {
  map m = filled<map>(30);
  multimap many = filled<multimap>(30);
  const auto before = contents(m), all_before = contents(many);
  const auto check = [&](auto insert) {
    for_each_failure([&] { insert(m, 500); }, [&] { EXPECT_EQ(contents(m), before); });
    EXPECT_EQ(m.unsafe_erase(500), 1U);
    for_each_failure([&] { insert(many, 500); }, [&] { EXPECT_EQ(contents(many), all_before); });
    EXPECT_EQ(many.unsafe_erase(500), 1U);
    for_each_failure([&] { insert(m, 37); }, [&] { EXPECT_EQ(contents(m), before); });
    EXPECT_EQ(contents(m), before);
  };
  check([](auto& to, int key) { to.insert(element(key, 0)); });
  check([](auto& to, int key) {
    const element e(key, 0);
    to.insert(e);
  });
  check([](auto& to, int key) { to.insert(std::make_pair(key, 0)); });
  check([](auto& to, int key) { to.emplace(counted_int(key), 0); });
  check([](auto& to, int key) { to.emplace_hint(to.begin(), key, 0); });
}

TEST_F(ConcurrentMapFailures, ANodeHandleKeepsItsNode) {
  map m = filled<map>(30);
  map::node_type handle = m.unsafe_extract(37);
  const auto before = contents(m);
  for_each_failure([&] { m.insert(std::move(handle)); },
                   [&] {
                     EXPECT_EQ(contents(m), before);
                     ASSERT_FALSE(handle.empty());
                     EXPECT_EQ(handle.key().value, 37);
                   });
  EXPECT_TRUE(handle.empty());
  EXPECT_EQ(m.size(), before.size() + 1);
  for_each_failure([&] { m.unsafe_extract(37); }, [&] { EXPECT_EQ(m.size(), before.size() + 1); });
  EXPECT_EQ(contents(m), before);
}

TEST_F(ConcurrentMapFailures, CopiesAndAssignments) {
  map m = filled<map>(10);
  const auto before = contents(m);
  map target = filled<map>(3);
  const auto target_before = contents(target);
  for_each_failure([&] { EXPECT_EQ(contents(map(m)), before); },
                   [&] { EXPECT_EQ(contents(m), before); });
  for_each_failure([&] { target = m; }, [&] { EXPECT_EQ(contents(target), target_before); });
  EXPECT_EQ(contents(target), before);
  std::vector<std::pair<int, int>> pairs = {{3, 1}, {1, 2}, {2, 3}};
  const counting_allocator<element> allocator(counts);
  for_each_failure([&] { map made(pairs.begin(), pairs.end(), allocator); }, [] {});
  EXPECT_EQ(counts.blocks, 20);
}

TEST_F(ConcurrentMapFailures, AMergeThatThrowsLosesNothing) {
  map to = filled<map>(20);
  multimap from{counting_allocator<element>(counts)};
  for (int i = 0; i < 30; ++i) from.emplace(i * 7 % 60, i);
  const std::size_t all = to.size() + from.size();
  for_each_failure([&] { to.merge(from); },
                   [&] {
                     EXPECT_EQ(to.size() + from.size(), all);
                     contents(to);
                     contents(from);
                   });
  EXPECT_EQ(contents(to).size() + contents(from).size(), all);
  for (const auto& e : from) EXPECT_TRUE(to.contains(e.first));
}

TEST_F(ConcurrentMapFailures, ErasureThatThrowsHasNoEffect) {
  map m = filled<map>(30);
  for_each_failure([&] { m.unsafe_erase(37); }, [&] { EXPECT_EQ(m.size(), 30U); });
  EXPECT_EQ(contents(m).size(), 29U);
  for_each_failure([&] { m.unsafe_erase(m.cbegin()); }, [&] { EXPECT_EQ(m.size(), 29U); });
  EXPECT_EQ(contents(m).size(), 28U);
}

TEST_F(ConcurrentMapFailures, AllocatorsThatDiffer) {
  allocation_counts others;
  const counting_allocator<element> other(others);
  map m = filled<map>(10);
  const auto before = contents(m);
  map moved(std::move(m), other);  // each element is moved
  EXPECT_EQ(contents(moved), before);
  EXPECT_TRUE(m.empty());
  EXPECT_EQ(others.blocks, 10);
  EXPECT_EQ(counts.blocks, 0);
  m = std::move(moved);
  EXPECT_EQ(contents(m), before);
  EXPECT_EQ(m.get_allocator().counts, &counts);
  EXPECT_EQ(others.blocks, 0);
  moved = m;
  EXPECT_EQ(moved.get_allocator().counts, &others);
  EXPECT_EQ(others.objects, 10);
  map copied(m, other);
  EXPECT_EQ(others.objects, 20);
  copied.swap(moved);
  EXPECT_EQ(contents(copied), before);
}

TEST_F(ConcurrentMapFailures, AllocatorsThatPropagate) {
  allocation_counts others;
  using propagating = map_with<true>;
  propagating a{counting_allocator<element, true>(counts)};
  propagating b{counting_allocator<element, true>(others)};
  a.emplace(1, 10);
  b.emplace(2, 20);
  b.emplace(3, 30);
  swap(a, b);
  EXPECT_EQ(a.get_allocator().counts, &others);
  EXPECT_EQ(a.size(), 2U);
  b = a;
  EXPECT_EQ(b.get_allocator().counts, &others);
  EXPECT_EQ(counts.blocks, 0);
  EXPECT_EQ(others.blocks, 4);
  propagating c{counting_allocator<element, true>(counts)};
  c.emplace(7, 70);
  c = std::move(a);
  EXPECT_EQ(c.get_allocator().counts, &others);
  EXPECT_EQ(counts.blocks, 0);
  EXPECT_EQ(contents(c), contents(b));
}

// An element that must be made to know its key is destroyed if it is refused.
TEST_F(ConcurrentMapFailures, RefusedElementsAreDestroyed) {
  map m = filled<map>(5);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(m.emplace(37, i).second);
  EXPECT_EQ(counts.blocks, 5);
  const std::size_t empty = sizeof(m);
  EXPECT_LE(empty, 192U);
}

}  // namespace
}  // namespace corbel::test
