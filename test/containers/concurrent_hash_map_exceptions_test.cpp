// SPDX-License-Identifier: Apache-2.0
// concurrent_hash_map when something throws: a constructor, the allocator, the comparison. Nothing
// is lost and nothing leaks, whichever call it is.
#include <tbb/concurrent_hash_map.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

struct failure {};

// Which of the next calls throws: 0 for none.
int calls_left = 0;
void may_throw() {
  if (calls_left != 0 && --calls_left == 0) throw failure();
}

int live_values = 0;

struct value {
  int number;

  value() : value(0) {}
  value(int n) : number(n) {
    may_throw();
    ++live_values;
  }
  value(const value& other) : value(other.number) {}
  value& operator=(const value&) = default;
  ~value() { --live_values; }
};

// A key that is no number, so that it is compared under the lock of its element.
struct key : value {
  using value::value;
};
struct key_compare {
  static std::size_t hash(const key& k) {
    may_throw();
    return std::size_t(k.number);
  }
  static bool equal(const key& a, const key& b) {
    may_throw();
    return a.number == b.number;
  }
};

std::ptrdiff_t live_bytes = 0;

// Allocators with different numbers cannot free each other's memory.
template <typename T>
struct allocator {
  using value_type = T;
  int number = 0;

  explicit allocator(int n = 0) : number(n) {}
  template <typename U>
  allocator(const allocator<U>& other) : number(other.number) {}

  T* allocate(std::size_t n) {
    may_throw();
    live_bytes += std::ptrdiff_t(n * sizeof(T));
    std::size_t* const block = static_cast<std::size_t*>(::operator new(n * sizeof(T) + 64));
    *block = std::size_t(number);
    return reinterpret_cast<T*>(block + 8);
  }
  void deallocate(T* p, std::size_t n) {
    live_bytes -= std::ptrdiff_t(n * sizeof(T));
    std::size_t* const block = reinterpret_cast<std::size_t*>(p) - 8;
    EXPECT_EQ(*block, std::size_t(number));
    ::operator delete(block);
  }
  template <typename U>
  bool operator==(const allocator<U>& other) const {
    return number == other.number;
  }
  template <typename U>
  bool operator!=(const allocator<U>& other) const {
    return number != other.number;
  }
};

using map =
    tbb::concurrent_hash_map<key, value, key_compare, allocator<std::pair<const key, value>>>;
using element = map::value_type;

void check(const map& m, std::size_t size) {
  calls_left = 0;
  EXPECT_EQ(m.size(), size);
  EXPECT_EQ(std::size_t(std::distance(m.begin(), m.end())), size);
  for (const element& e : m) EXPECT_EQ(m.count(e.first), 1u);
}

// Calls act() once for each n, with the n-th call that can throw throwing, until none does; then
// after(whether act() ended).
template <typename Act, typename After>
void for_each_failure(const Act& act, const After& after) {
  bool ended = false;
  for (int n = 1; !ended; ++n) {
    ASSERT_LT(n, 20000);
    try {
      calls_left = n;
      act();
      ended = true;
    } catch (const failure&) {
    }
    calls_left = 0;
    after(ended);
  }
  EXPECT_EQ(live_values, 0);
  EXPECT_EQ(live_bytes, 0);
}

// `insert` inserts key 100 into a map of 100 elements.
template <typename Insert>
void check_insertion(const Insert& insert) {
  std::unique_ptr<map> m;
  const auto renew = [&] {
    m.reset();
    m = std::make_unique<map>();
    for (int i = 0; i < 100; ++i) m->insert(element(i, i));
  };
  renew();
  for_each_failure([&] { insert(*m); },
                   [&](bool ended) {
                     check(*m, ended ? 101 : 100);
                     EXPECT_EQ(m->count(100), ended ? 1u : 0u);
                     if (ended) {
                       m.reset();
                     } else {
                       EXPECT_TRUE(m->insert(element(100, 1)));
                       EXPECT_TRUE(m->erase(100));
                     }
                   });
}

TEST(ConcurrentHashMapExceptions, Insertions) {
  check_insertion([](map& m) { m.insert(element(100, 1)); });
  check_insertion([](map& m) {
    const element e(100, 1);
    m.insert(e);
  });
  check_insertion([](map& m) { m.emplace(100, 1); });
  check_insertion([](map& m) {
    map::accessor a;
    m.insert(a, key(100));
  });
  check_insertion([](map& m) {
    map::const_accessor a;
    m.insert(a, element(100, 1));
  });
  check_insertion([](map& m) {
    map::accessor a;
    m.emplace(a, 100, 1);
  });
}

// An accessor is empty after a failure, and the element it was to point to is free.
TEST(ConcurrentHashMapExceptions, Accessors) {
  {
    map m;
    for (int i = 0; i < 10; ++i) m.insert(element(i, i));
    map::accessor a;
    for_each_failure([&] { m.find(a, 3); },
                     [&](bool ended) {
                       EXPECT_EQ(a.empty(), !ended);
                       a.release();
                       map::accessor other;
                       EXPECT_TRUE(m.find(other, 3));
                       if (ended) {
                         other.release();
                         m.clear();
                       }
                     });
  }
}

TEST(ConcurrentHashMapExceptions, Erasing) {
  std::unique_ptr<map> m = std::make_unique<map>();
  for (int i = 0; i < 10; ++i) m->insert(element(i, i));
  for_each_failure([&] { m->erase(3); },
                   [&](bool ended) {
                     check(*m, ended ? 9 : 10);
                     if (ended) m.reset();
                   });
}

// An allocation that fails in erase() does not keep it from erasing.
TEST(ConcurrentHashMapExceptions, ErasingWithoutMemory) {
  tbb::concurrent_hash_map<int, value, tbb::tbb_hash_compare<int>,
                           allocator<std::pair<const int, value>>>
      m;
  for (int i = 0; i < 300; ++i) m.insert({i, value(i)});
  for (int i = 0; i < 300; ++i) {
    calls_left = 1;
    EXPECT_TRUE(m.erase(i));
    calls_left = 0;
  }
  EXPECT_TRUE(m.empty());
  EXPECT_EQ(live_values, 0);
  m.clear();
  EXPECT_EQ(live_bytes, 0);
}

TEST(ConcurrentHashMapExceptions, Growth) {
  // Buckets: without memory for them, insertions go on.
  std::unique_ptr<map> m;
  for (int n = 1; n < 40; ++n) {
    m = std::make_unique<map>();
    std::size_t inserted = 0;
    for (int i = 0; i < 200; ++i) {
      calls_left = i % n == 0 ? 12 : 0;
      try {
        inserted += m->insert(element(i, i)) ? 1 : 0;
      } catch (const failure&) {
      }
    }
    check(*m, inserted);
  }
  for_each_failure([&] { m->rehash(4000); },
                   [&](bool ended) {
                     check(*m, m->size());
                     if (ended) m.reset();
                   });
}

// Few different hashes: buckets overflow, and splitting them takes memory.
struct few_hashes {
  static std::size_t hash(const key& k) { return std::size_t(k.number % 5); }
  static bool equal(const key& a, const key& b) { return a.number == b.number; }
};

TEST(ConcurrentHashMapExceptions, Overflow) {
  using map =
      tbb::concurrent_hash_map<key, value, few_hashes, allocator<std::pair<const key, value>>>;
  const auto check = [](const map& m, const std::vector<bool>& in) {
    calls_left = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      size += in[i] ? 1 : 0;
      EXPECT_EQ(m.count(int(i)), in[i] ? 1u : 0u);
    }
    EXPECT_EQ(m.size(), size);
    EXPECT_EQ(std::size_t(std::distance(m.begin(), m.end())), size);
  };
  for (int n = 1; n < 30; ++n) {
    map m;
    std::vector<bool> in(300);
    for (int i = 0; i < 300; ++i) {
      calls_left = i % n == 0 ? 1 + i % 7 : 0;
      try {
        in[std::size_t(i)] = m.insert({key(i), value(i)});
      } catch (const failure&) {
      }
    }
    check(m, in);
    for (int i = 0; i < 300; i += 3) {
      calls_left = 0;
      EXPECT_EQ(m.erase(i), in[std::size_t(i)]);
      in[std::size_t(i)] = false;
    }
    for (bool ended = false; !ended;) {
      calls_left = n;
      try {
        m.rehash(2000);
        ended = true;
      } catch (const failure&) {
      }
      check(m, in);
      if (!ended) ++n;
    }
  }
  EXPECT_EQ(live_values, 0);
  EXPECT_EQ(live_bytes, 0);
}

TEST(ConcurrentHashMapExceptions, WholeMaps) {
  const auto fill = [](map& m, int n) {
    for (int i = 0; i < n; ++i) m.insert(element(i, i));
  };
  auto source = std::make_unique<map>();
  fill(*source, 40);
  for_each_failure([&] { map copy(*source); },
                   [&](bool ended) {
                     check(*source, 40);
                     if (ended) source.reset();
                   });
  const std::vector<std::pair<int, int>> list{{1, 1}, {2, 2}, {3, 3}};
  for_each_failure([&] { map m(list.begin(), list.end(), allocator<element>(3)); }, [](bool) {});
  for_each_failure([&] { map m(10000); }, [](bool) {});

  source = std::make_unique<map>();
  fill(*source, 20);
  auto target = std::make_unique<map>();
  for_each_failure([&] { *target = *source; },
                   [&](bool ended) {
                     check(*source, 20);
                     check(*target, ended ? 20 : target->size());
                     if (ended) {
                       source.reset();
                       target.reset();
                     }
                   });
}

// With unequal allocators the elements are moved one by one.
TEST(ConcurrentHashMapExceptions, UnequalAllocators) {
  auto source = std::make_unique<map>(allocator<element>(1));
  auto target = std::make_unique<map>(allocator<element>(2));
  for (int i = 0; i < 20; ++i) source->insert(element(i, i));
  for_each_failure([&] { *target = std::move(*source); },
                   [&](bool ended) {
                     check(*target, ended ? 20 : target->size());
                     check(*source, ended ? 0 : 20);
                     EXPECT_EQ(target->get_allocator().number, 2);
                     if (!ended) return;
                     map moved(std::move(*target), allocator<element>(3));
                     check(moved, 20);
                     map same(std::move(moved), allocator<element>(3));
                     check(same, 20);
                     check(moved, 0);
                     source.reset();
                     target.reset();
                   });
}

}  // namespace
