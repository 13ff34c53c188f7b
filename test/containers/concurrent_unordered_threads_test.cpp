// SPDX-License-Identifier: Apache-2.0
// The concurrent unordered containers in several threads, while they grow: short random histories
// are linearizable, and long runs lose and repeat nothing.
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_unordered_set.h>
#include <tbb/parallel_for.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "linearizable.hpp"

namespace corbel::test {
namespace {

constexpr int kThreads = 3;

// ---- histories

enum kind { kInsert, kEmplace, kFind, kCount, kKinds };
constexpr const char* kNames[] = {"insert", "emplace", "find", "count"};
constexpr int kKeys = 3;

struct operation {
  kind what;
  int key;
  int result = 0;

  friend std::ostream& operator<<(std::ostream& out, const operation& o) {
    return out << kNames[o.what] << ' ' << o.key << ": " << o.result;
  }
};

template <bool kMulti>
struct a_set {
  std::array<int, kKeys> counts{};

  bool apply(const operation& o) {
    int& count = counts[std::size_t(o.key)];
    switch (o.what) {
      case kInsert:
      case kEmplace: {
        const bool inserts = kMulti || count == 0;
        count += inserts ? 1 : 0;
        return o.result == int(inserts);
      }
      case kFind:
        return o.result == int(count != 0);
      case kCount:
        return o.result == count;
      case kKinds:
        break;
    }
    return false;
  }
  bool operator==(const a_set&) const = default;
};

// Of each hash function: numbers, which a node does not keep; strings; values that are all equal.
int key_for(int, int key) { return key * 1000; }
std::string key_for(const std::string&, int key) { return std::string(std::size_t(key + 1), 'k'); }
struct one_value {
  std::size_t operator()(int) const { return 1; }
};

template <typename C, bool kMulti>
void histories_are_linearizable() {
  using key = typename C::key_type;
  std::unique_ptr<C> c;
  history<operation> happened(kThreads);
  std::mt19937 seeds(17);
  std::array<std::mt19937, kThreads> random;
  run_rounds(
      kThreads, 1500,
      [&] {
        happened.clear();
        c = std::make_unique<C>();
        c->max_load_factor(0);  // each insertion lets it grow
        for (int i = int(seeds() % 3); i > 0; --i) c->insert(key_for(key(), 100 + i));
        for (auto& r : random) r.seed(seeds());
      },
      [&](int thread) {
        for (int i = 0; i < 4; ++i) {
          auto& r = random[std::size_t(thread)];
          happened.record(thread, {kind(r() % kKinds), int(r() % kKeys)}, [&](operation& o) {
            const key k = key_for(key(), o.key);
            switch (o.what) {
              case kInsert:
                o.result = c->insert(k).second;
                break;
              case kEmplace:
                o.result = c->emplace(k).second;
                break;
              case kFind:
                o.result = c->find(k) != c->end();
                break;
              default:
                o.result = int(c->contains(k) ? c->count(k) : 0);
                if (kMulti)
                  o.what = kFind, o.result = c->contains(k);  // a count takes several steps
            }
          });
        }
      },
      [&] { ASSERT_TRUE(is_linearizable(a_set<kMulti>(), happened)) << happened; });
}

TEST(UnorderedThreads, HistoriesOfNumbers) {
  histories_are_linearizable<tbb::concurrent_unordered_set<int>, false>();
  histories_are_linearizable<tbb::concurrent_unordered_multiset<int>, true>();
}
TEST(UnorderedThreads, HistoriesOfStrings) {
  histories_are_linearizable<tbb::concurrent_unordered_set<std::string>, false>();
  histories_are_linearizable<tbb::concurrent_unordered_multiset<std::string>, true>();
}
TEST(UnorderedThreads, HistoriesOfOneHashValue) {
  histories_are_linearizable<tbb::concurrent_unordered_set<int, one_value>, false>();
  histories_are_linearizable<tbb::concurrent_unordered_multiset<int, one_value>, true>();
}

// ---- long runs

// Calls body(thread) in several threads at the same time.
template <typename Body>
void in_threads(const Body& body) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ready.fetch_add(1);
      while (ready.load() != kThreads) std::this_thread::yield();
      body(t);
    });
  }
  for (std::thread& each : threads) each.join();
}

std::vector<int> shuffled(int count, unsigned seed) {
  std::vector<int> numbers(std::size_t(count), 0);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(seed));
  return numbers;
}

constexpr int kSize = 20000;

TEST(UnorderedThreads, EachKeyIsInsertedOnce) {
  tbb::concurrent_unordered_map<int, int> m;
  std::atomic<int> inserted{0};
  in_threads([&](int t) {
    for (const int key : shuffled(kSize, unsigned(t))) {
      const auto result = m.insert({key, t});
      inserted += result.second ? 1 : 0;
      ASSERT_EQ(result.first->first, key);
      ASSERT_EQ(m.find(key), result.first);
      ASSERT_EQ(m.count(key), 1u);
      ASSERT_FALSE(m.contains(-key - 1));
    }
  });
  EXPECT_EQ(inserted, kSize);
  EXPECT_EQ(m.size(), std::size_t(kSize));
  EXPECT_EQ(std::distance(m.begin(), m.end()), kSize);
}

TEST(UnorderedThreads, SubscriptMakesOneElement) {
  tbb::concurrent_unordered_map<std::string, std::atomic<int>> m;
  in_threads([&](int t) {
    for (const int key : shuffled(kSize / 4, unsigned(t))) ++m[std::to_string(key)];
  });
  EXPECT_EQ(m.size(), std::size_t(kSize / 4));
  for (const auto& each : m) EXPECT_EQ(each.second, kThreads);
}

TEST(UnorderedThreads, EqualKeysStayNeighbours) {
  tbb::concurrent_unordered_multimap<int, int> m;
  in_threads([&](int t) {
    for (const int key : shuffled(kSize, unsigned(t))) {
      m.emplace(key % 1000, t);
      ASSERT_GE(m.count(key % 1000), 1u);
    }
  });
  for (int key = 0; key < 1000; ++key)
    ASSERT_EQ(m.count(key), std::size_t(kThreads * kSize / 1000));
}

// A traversal finds each element once that was there before it began.
TEST(UnorderedThreads, TraversalDuringInsertion) {
  tbb::concurrent_unordered_set<int> s;
  std::array<std::atomic<int>, kThreads> done{};  // the number of keys that the thread has inserted
  in_threads([&](int t) {
    for (int i = 0; i < kSize / 4; ++i) {
      s.insert(i * kThreads + t);
      done[std::size_t(t)] = i + 1;
      if (i % 512 != 511) continue;
      std::array<int, kThreads> before;
      for (int u = 0; u < kThreads; ++u) before[std::size_t(u)] = done[std::size_t(u)];
      std::vector<int> seen;
      for (const int key : s) seen.push_back(key);  // in one pass: there are soon more
      std::sort(seen.begin(), seen.end());
      ASSERT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
      for (int u = 0; u < kThreads; ++u) {
        for (int j = 0; j < before[std::size_t(u)]; ++j) {
          ASSERT_TRUE(std::binary_search(seen.begin(), seen.end(), j * kThreads + u));
        }
      }
    }
  });
}

TEST(UnorderedThreads, RangeDuringInsertion) {
  tbb::concurrent_unordered_set<int> s;
  for (int i = 0; i < kSize; ++i) s.insert(i);
  std::vector<std::atomic<int>> seen(std::size_t(kSize) * 2);
  std::thread other([&] {
    for (const int key : shuffled(kSize, 5)) s.insert(kSize + key);
  });
  tbb::parallel_for(s.range(), [&](const auto& range) {
    for (const int key : range) seen[std::size_t(key)]++;
  });
  other.join();
  for (int i = 0; i < kSize; ++i) ASSERT_EQ(seen[std::size_t(i)], 1);
  for (int i = kSize; i < 2 * kSize; ++i) ASSERT_LE(seen[std::size_t(i)], 1);
}

TEST(UnorderedThreads, MergesIntoOne) {
  std::array<tbb::concurrent_unordered_multiset<int>, kThreads> sources;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kSize / 2; ++i) sources[std::size_t(t)].insert(i + t * 1000);
  }
  tbb::concurrent_unordered_set<int> s;
  in_threads([&](int t) {
    s.merge(sources[std::size_t(t)]);
    for (int i = 0; i < kSize / 2; ++i) ASSERT_TRUE(s.contains(i + t * 1000));
  });
  EXPECT_EQ(s.size(), std::size_t(kSize / 2 + (kThreads - 1) * 1000));
  std::size_t all = s.size();
  for (const auto& source : sources) {
    all += source.size();
    EXPECT_EQ(std::size_t(std::distance(source.begin(), source.end())), source.size());
  }
  EXPECT_EQ(all, std::size_t(kThreads * kSize / 2));
}

TEST(UnorderedThreads, FindsWhileAnotherThreadInserts) {
  tbb::concurrent_unordered_map<int, int> m;
  std::atomic<int> done{0};
  in_threads([&](int t) {
    if (t == 0) {
      for (int i = 0; i < kSize; ++i) {
        m.emplace(i, -i);
        done.store(i + 1, std::memory_order_release);
      }
      return;
    }
    std::mt19937 random{unsigned(t)};
    for (int known = 0; known < kSize; known = done.load(std::memory_order_acquire)) {
      if (known == 0) continue;
      const int key = int(random() % unsigned(known));
      ASSERT_EQ(m.at(key), -key);
      ASSERT_EQ(m.size() >= std::size_t(known), true);
    }
  });
}

}  // namespace
}  // namespace corbel::test
