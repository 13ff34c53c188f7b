// SPDX-License-Identifier: Apache-2.0
// The concurrent unordered containers when the n-th allocation, construction, hash or comparison
// throws, for every n: an element is inserted or not, and nothing leaks.
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_unordered_set.h>

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "unordered_helpers.hpp"

namespace corbel::test {
namespace {

// Numbers keep no hash value in their nodes: the list asks for it again.
struct throwing_hash {
  std::size_t operator()(int key) const {
    countdown::event();
    return std::size_t(key);
  }
};

using map = tbb::concurrent_unordered_map<fragile, fragile, fragile_hash, fragile_equal,
                                          counting_allocator<std::pair<const fragile, fragile>>>;
using multimap =
    tbb::concurrent_unordered_multimap<fragile, fragile, fragile_hash, fragile_equal,
                                       counting_allocator<std::pair<const fragile, fragile>>>;
using set = tbb::concurrent_unordered_set<fragile, fragile_hash, fragile_equal,
                                          counting_allocator<fragile>>;
using numbers = tbb::concurrent_unordered_multiset<int, throwing_hash, std::equal_to<int>,
                                                   counting_allocator<int>>;

int key_of(int key) { return key; }
int key_of(const fragile& key) { return key.value; }
int key_of(const std::pair<const fragile, fragile>& element) { return element.first.value; }

template <typename C>
std::multiset<int> keys(const C& of) {
  std::multiset<int> found;
  for (const auto& each : of) found.insert(key_of(each));
  return found;
}

// Calls make(), then act(it), with a throw at the n-th event of act, for n = 1, 2, ... until act
// gets through. check(it, thrown) looks at the container afterwards.
template <typename Make, typename Act, typename Check>
void for_every_throw(Make make, Act act, Check check) {
  for (int n = 1;; ++n) {
    bool thrown = false;
    {
      auto it = make();
      countdown::left = n;
      try {
        act(it);
      } catch (const std::runtime_error&) {
        thrown = true;
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      const bool through = countdown::left.exchange(0) > 0;
      check(it, thrown);
      EXPECT_EQ(keys(it).size(), it.size());
      // The container still works.
      it.insert(*decltype(make())(it).begin());
      if (through) {
        EXPECT_FALSE(thrown);
        n = -1;
      }
    }
    EXPECT_EQ(fragile::objects, 0);
    EXPECT_EQ(memory_of(0).blocks, 0);
    EXPECT_EQ(memory_of(0).bytes, 0);
    if (n < 0) break;
  }
}

template <typename C>
C filled(int count) {
  C c;
  for (int i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<typename C::key_type, typename C::value_type>) {
      c.emplace(i);
    } else {
      c.emplace(i, i);
    }
  }
  return c;
}

template <typename C>
struct UnorderedThrow : testing::Test {};
using containers = testing::Types<map, multimap, set, numbers>;
TYPED_TEST_SUITE(UnorderedThrow, containers);

// At 16 elements the table grows, which may fail without harm.
TYPED_TEST(UnorderedThrow, Insert) {
  using C = TypeParam;
  for (const int before : {1, 15, 16, 17, 33}) {
    for_every_throw([&] { return filled<C>(before); },
                    [&](C& c) {
                      if constexpr (std::is_same_v<typename C::key_type, typename C::value_type>) {
                        c.insert(typename C::value_type(before));
                      } else {
                        c.insert({before, before});
                      }
                    },
                    [&](C& c, bool thrown) {
                      EXPECT_EQ(c.size(), std::size_t(before + (thrown ? 0 : 1)));
                      EXPECT_EQ(c.count(before), thrown ? 0u : 1u);
                      for (int i = 0; i < before; ++i) EXPECT_EQ(c.count(i), 1u);
                    });
  }
}

TYPED_TEST(UnorderedThrow, EmplaceAndFirstBuckets) {
  using C = TypeParam;
  for (const int before : {0, 16, 40}) {
    for_every_throw([&] { return filled<C>(before); },
                    [&](C& c) {
                      if constexpr (std::is_same_v<typename C::key_type, typename C::value_type>) {
                        c.emplace(before);
                      } else {
                        c.emplace(before, 7);
                      }
                    },
                    [&](C& c, bool thrown) {
                      EXPECT_EQ(c.size(), std::size_t(before + (thrown ? 0 : 1)));
                      EXPECT_EQ(c.count(before), thrown ? 0u : 1u);
                      if (c.empty()) c = filled<C>(1);
                    });
  }
}

TYPED_TEST(UnorderedThrow, CopyAndAssign) {
  using C = TypeParam;
  const C original = filled<C>(20);
  const int objects = fragile::objects;
  const std::ptrdiff_t blocks = memory_of(0).blocks;
  for (int n = 1;; ++n) {
    bool thrown = false;
    countdown::left = n;
    try {
      C copy(original);
      C assigned;
      assigned = original;
      C other(std::move(copy), counting_allocator<typename C::value_type>(1));
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    countdown::left = 0;
    EXPECT_EQ(fragile::objects, objects);
    EXPECT_EQ(memory_of(0).blocks, blocks);
    EXPECT_EQ(memory_of(1).blocks, 0);
    if (!thrown) break;
  }
}

TYPED_TEST(UnorderedThrow, AssignmentThatThrowsChangesNothing) {
  using C = TypeParam;
  {
    const C original = filled<C>(20);
    for (int n = 1;; ++n) {
      C target = filled<C>(3);
      bool thrown = false;
      countdown::left = n;
      try {
        target = original;
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      countdown::left = 0;
      EXPECT_EQ(target.size(), thrown ? 3u : 20u);
      if (!thrown) break;
    }
  }
  EXPECT_EQ(fragile::objects, 0);
  EXPECT_EQ(memory_of(0).blocks, 0);
}

// Every element is in one of the two containers.
TYPED_TEST(UnorderedThrow, Merge) {
  using C = TypeParam;
  for (int n = 1;; ++n) {
    bool thrown = false;
    {
      C source = filled<C>(20);
      C target = filled<C>(5);
      countdown::left = n;
      try {
        target.merge(source);
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      countdown::left = 0;
      EXPECT_EQ(source.size() + target.size(), 25u);
      std::multiset<int> all = keys(source);
      all.merge(keys(target));
      EXPECT_EQ(all.size(), 25u);
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(all.count(i), i < 5 ? 2u : 1u);
        EXPECT_EQ(source.count(i) + target.count(i), i < 5 ? 2u : 1u);
      }
    }
    EXPECT_EQ(fragile::objects, 0);
    EXPECT_EQ(memory_of(0).blocks, 0);
    if (!thrown) break;
  }
}

TYPED_TEST(UnorderedThrow, NodeHandle) {
  using C = TypeParam;
  for (int n = 1;; ++n) {
    bool thrown = false;
    {
      C source = filled<C>(20);
      C target;
      auto handle = source.unsafe_extract(source.begin());
      countdown::left = n;
      try {
        target.insert(std::move(handle));
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      countdown::left = 0;
      EXPECT_EQ(handle.empty(), !thrown);
      EXPECT_EQ(target.size(), thrown ? 0u : 1u);
    }
    EXPECT_EQ(fragile::objects, 0);
    EXPECT_EQ(memory_of(0).blocks, 0);
    if (!thrown) break;
  }
}

TYPED_TEST(UnorderedThrow, ConstructorsAndReserve) {
  using C = TypeParam;
  for (int n = 1;; ++n) {
    bool thrown = false;
    countdown::left = n;
    try {
      C c(100);
      const C other{*filled<C>(1).begin()};
      c.reserve(1000);
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    countdown::left = 0;
    EXPECT_EQ(fragile::objects, 0);
    EXPECT_EQ(memory_of(0).blocks, 0);
    EXPECT_EQ(memory_of(0).bytes, 0);
    if (!thrown) break;
  }
}

TEST(UnorderedMapThrow, Subscript) {
  for (int n = 1;; ++n) {
    bool thrown = false;
    {
      map m = filled<map>(16);
      countdown::left = n;
      try {
        m[fragile(16)].value = 3;
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      countdown::left = 0;
      EXPECT_EQ(m.size(), thrown ? 16u : 17u);
    }
    EXPECT_EQ(fragile::objects, 0);
    if (!thrown) break;
  }
}

// No memory for more buckets: elements are still added and found.
TEST(UnorderedSetThrow, GrowsWithoutMemory) {
  tbb::concurrent_unordered_set<int, std::hash<int>, std::equal_to<int>, counting_allocator<int>> s;
  s.insert(-1);
  for (int i = 0; i < 1000; ++i) {
    bool inserted = false;
    while (!inserted) {
      countdown::left = 2;  // the node's memory is there, that of a segment is not
      inserted = s.insert(i).second;
      countdown::left = 0;
    }
  }
  EXPECT_EQ(s.unsafe_bucket_count(), 8u);
  EXPECT_EQ(s.size(), 1001u);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(s.contains(i));
  s.insert(1000);
  for (int i = 1001; i < 2000; ++i) s.insert(i);
  EXPECT_GE(s.unsafe_bucket_count(), 1000u);
  for (int i = -1; i < 2000; ++i) EXPECT_TRUE(s.contains(i));
}

}  // namespace
}  // namespace corbel::test
