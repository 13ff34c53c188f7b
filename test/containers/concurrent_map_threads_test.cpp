// SPDX-License-Identifier: Apache-2.0
// The ordered containers used by several threads at the same time.
#include <gtest/gtest.h>
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_set.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include "linearizable.hpp"

namespace corbel::test {
namespace {

// Calls run(thread) in several threads that begin together.
template <typename Run>
void in_threads(int count, Run run) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting.load() != 0) std::this_thread::yield();
      run(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

enum class keys { kRandom, kAscending, kDescending, kNarrow };

unsigned key_of(keys order, unsigned i) {
  switch (order) {
    case keys::kRandom:
      return i * 2654435761U >> 8;
    case keys::kAscending:
      return i;
    case keys::kDescending:
      return 1'000'000 - i;
    case keys::kNarrow:
      return i % 16;
  }
  return 0;
}

class ConcurrentMapThreads : public testing::TestWithParam<keys> {};

// All threads insert the same keys: one of them succeeds with each.
TEST_P(ConcurrentMapThreads, EachKeyIsInsertedOnce) {
  constexpr int kThreads = 4;
  constexpr unsigned kKeys = 10000;
  tbb::concurrent_map<unsigned, int> m;
  std::vector<std::atomic<int>> winners(kKeys);
  in_threads(kThreads, [&](int t) {
    for (unsigned i = 0; i < kKeys; ++i) {
      const unsigned key = key_of(GetParam(), i);
      const auto result = t % 2 == 0 ? m.emplace(key, t) : m.insert({key, t});
      if (result.second) ++winners[i];
      ASSERT_EQ(result.first->first, key);
      ASSERT_EQ(result.first, m.find(key));
    }
  });
  std::map<unsigned, int> expected;
  for (unsigned i = 0; i < kKeys; ++i) expected[key_of(GetParam(), i)] += winners[i];
  ASSERT_EQ(m.size(), expected.size());
  auto at = m.begin();
  for (const auto& [key, count] : expected) {
    EXPECT_EQ(at->first, key);
    EXPECT_EQ(count, 1);
    ++at;
  }
  EXPECT_EQ(at, m.end());
  // The links of all levels are right: everything is found, and erased level by level.
  for (const auto& [key, count] : expected) ASSERT_EQ(m.unsafe_erase(key), 1U);
  EXPECT_TRUE(m.empty());
  EXPECT_EQ(m.size(), 0U);
}

// Elements with equal keys keep the order in which each thread has inserted them.
TEST_P(ConcurrentMapThreads, EqualKeysKeepTheirOrder) {
  constexpr int kThreads = 4;
  constexpr unsigned kPerThread = 2000;
  tbb::concurrent_multimap<unsigned, std::pair<int, unsigned>> m;
  in_threads(kThreads, [&](int t) {
    for (unsigned i = 0; i < kPerThread; ++i) {
      const auto result = m.emplace(key_of(GetParam(), i), std::make_pair(t, i));
      ASSERT_TRUE(result.second);
      ASSERT_EQ(result.first->second, std::make_pair(t, i));
    }
  });
  EXPECT_EQ(m.size(), kThreads * kPerThread);
  std::map<std::pair<unsigned, int>, unsigned> last;
  unsigned before = 0, count = 0;
  for (const auto& [key, value] : m) {
    EXPECT_LE(before, key);
    before = key;
    const auto [at, is_first] = last.emplace(std::make_pair(key, value.first), value.second);
    EXPECT_TRUE(is_first || at->second < value.second);
    at->second = value.second;
    ++count;
  }
  EXPECT_EQ(count, kThreads * kPerThread);
  for (unsigned i = 0; i < kPerThread && GetParam() != keys::kNarrow; ++i)
    ASSERT_EQ(m.unsafe_erase(key_of(GetParam(), i)), std::size_t(kThreads));
  if (GetParam() == keys::kNarrow) {
    while (!m.empty()) m.unsafe_extract(m.begin());
  }
  EXPECT_EQ(m.size(), 0U);
}

// An iteration sees what was there before, in order; a look-up finds what another thread has
// announced; ranges cover what was there before.
TEST_P(ConcurrentMapThreads, ReadersMeetInsertions) {
  constexpr unsigned kKeys = 6000;
  tbb::concurrent_set<unsigned> s;
  std::atomic<unsigned> announced{0};
  in_threads(4, [&](int t) {
    if (t < 2) {
      for (unsigned i = 0; i < kKeys; ++i) {
        s.insert(key_of(GetParam(), i));
        if (t == 0) announced.store(i + 1);
      }
      return;
    }
    for (unsigned there = 0; there < kKeys;) {
      there = announced.load();
      std::size_t seen = 0;
      bool is_sorted = true;
      const unsigned* before = nullptr;
      const auto look = [&](const unsigned& key) {
        if (before != nullptr && !(*before < key)) is_sorted = false;
        before = &key;
        ++seen;
      };
      if (t == 2) {
        for (const unsigned& key : s) look(key);
      } else {
        auto range = s.range();
        while (range.is_divisible()) {
          decltype(range) right(range, tbb::split());
          for (const unsigned& key : range) look(key);
          range = right;
        }
        for (const unsigned& key : range) look(key);
      }
      ASSERT_TRUE(is_sorted);
      ASSERT_GE(seen, GetParam() == keys::kNarrow ? std::min(there, 16U) : there);
      for (unsigned i = there < 50 ? 0 : there - 50; i < there; ++i) {
        const unsigned key = key_of(GetParam(), i);
        ASSERT_TRUE(s.contains(key));
        ASSERT_EQ(*s.lower_bound(key), key);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Keys, ConcurrentMapThreads,
                         testing::Values(keys::kRandom, keys::kAscending, keys::kDescending,
                                         keys::kNarrow));

TEST(ConcurrentMapLoops, RangesInParallelLoops) {
  tbb::concurrent_map<int, int> m;
  tbb::parallel_for(0, 5000, [&](int i) { m[i * 17 % 5000] += 1; });
  ASSERT_EQ(m.size(), 5000U);
  tbb::parallel_for(m.range(), [](const auto& range) {
    for (auto& element : range) element.second += element.first;
  });
  std::atomic<long> sum{0};
  const auto& c = m;
  tbb::parallel_for(c.range(), [&](const auto& range) {
    long part = 0;
    for (const auto& element : range) part += element.second;
    sum += part;
  });
  EXPECT_EQ(sum, 5000 + 4999L * 5000 / 2);
}

// Random operations of three threads, compared with sequential histories.
struct operation {
  enum kind { kInsert, kFind, kLowerBound, kUpperBound } what;
  int key;
  int result = -1;  // 1 or 0: inserted or found; or the key found, -1 at the end

  friend std::ostream& operator<<(std::ostream& out, const operation& o) {
    const char* const names[] = {"insert", "find", "lower_bound", "upper_bound"};
    return out << names[o.what] << "(" << o.key << ") -> " << o.result;
  }
};

struct sequential_set {
  unsigned keys = 0;  // a bit for each

  int first_from(int key) const {
    for (; key < 32; ++key) {
      if ((keys >> key & 1) != 0) return key;
    }
    return -1;
  }
  bool apply(const operation& o) {
    const bool is_in = (keys >> o.key & 1) != 0;
    switch (o.what) {
      case operation::kInsert:
        keys |= 1U << o.key;
        return o.result == int(!is_in);
      case operation::kFind:
        return o.result == int(is_in);
      case operation::kLowerBound:
        return o.result == first_from(o.key);
      case operation::kUpperBound:
        return o.result == first_from(o.key + 1);
    }
    return false;
  }
  friend bool operator==(const sequential_set& a, const sequential_set& b) {
    return a.keys == b.keys;
  }
};

TEST(ConcurrentSetThreads, RandomOperationsAreLinearizable) {
  constexpr int kThreads = 3, kOperations = 4, kRounds = 2000;
  history<operation> happened(kThreads);
  tbb::concurrent_set<int> s;
  std::vector<std::uint32_t> random = {1, 2, 3};
  run_rounds(
      kThreads, kRounds,
      [&] {
        happened.clear();
        s.clear();
      },
      [&](int thread) {
        std::uint32_t& state = random[std::size_t(thread)];
        for (int i = 0; i < kOperations; ++i) {
          state = state * 1664525 + 1013904223;
          const auto what = operation::kind(state >> 20 & 3);
          happened.record(thread,
                          operation{i == 0 ? operation::kInsert : what, int(state >> 24 & 7)},
                          [&](operation& o) {
                            const auto key_at = [&](auto at) { return at == s.end() ? -1 : *at; };
                            switch (o.what) {
                              case operation::kInsert:
                                o.result = s.insert(o.key).second;
                                break;
                              case operation::kFind:
                                o.result = s.contains(o.key);
                                break;
                              case operation::kLowerBound:
                                o.result = key_at(s.lower_bound(o.key));
                                break;
                              case operation::kUpperBound:
                                o.result = key_at(s.upper_bound(o.key));
                                break;
                            }
                          });
        }
      },
      [&] { EXPECT_TRUE(is_linearizable(sequential_set(), happened)) << happened; });
}

}  // namespace
}  // namespace corbel::test
