// SPDX-License-Identifier: Apache-2.0
// concurrent_hash_map under random operations of several threads.
#include <tbb/concurrent_hash_map.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <tbb/parallel_for.h>

#include "linearizable.hpp"

namespace {

constexpr int kThreads = 4;

std::atomic<int> live{0};

// Counts its objects; two numbers that are equal while no thread writes them.
struct value {
  int a = 0;
  int b = 0;

  value() { live.fetch_add(1, std::memory_order_relaxed); }
  value(int n) : a(n), b(n) { live.fetch_add(1, std::memory_order_relaxed); }
  value(const value& other) : a(other.a), b(other.b) {
    live.fetch_add(1, std::memory_order_relaxed);
  }
  ~value() {
    EXPECT_EQ(a, b);
    a = -1;
    live.fetch_sub(1, std::memory_order_relaxed);
  }
};

template <typename Key>
Key key_of(int i);
template <>
int key_of<int>(int i) {
  return i;
}
template <>
std::string key_of<std::string>(int i) {
  return "a key that is too long for a short string " + std::to_string(i);
}

template <typename Body>
void in_threads(const Body& body) {
  corbel::test::run_rounds(kThreads, 1, [] {}, body, [] {});
}

template <typename Key>
class ConcurrentHashMaps : public testing::Test {};
using keys = testing::Types<int, std::string>;
TYPED_TEST_SUITE(ConcurrentHashMaps, keys);

// Each key is inserted once, while the map grows.
TYPED_TEST(ConcurrentHashMaps, InsertsEachKeyOnce) {
  constexpr int kKeys = 20000;
  tbb::concurrent_hash_map<TypeParam, value> m;
  std::atomic<int> inserted{0};
  in_threads([&](int thread) {
    int mine = 0;
    for (int i = 0; i < kKeys; ++i) {
      const int k = thread % 2 == 0 ? i : kKeys - 1 - i;
      mine += m.insert({key_of<TypeParam>(k), value(k)}) ? 1 : 0;
      if (i % 1000 == thread) m.rehash(std::size_t(i));
    }
    inserted.fetch_add(mine, std::memory_order_relaxed);
  });
  EXPECT_EQ(inserted.load(), kKeys);
  EXPECT_EQ(m.size(), std::size_t(kKeys));
  EXPECT_EQ(std::distance(m.begin(), m.end()), kKeys);
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(m.count(key_of<TypeParam>(i)), 1u);
  EXPECT_EQ(live.load(), kKeys);
  m.clear();
  EXPECT_EQ(live.load(), 0);
}

TYPED_TEST(ConcurrentHashMaps, AccessorsExcludeEachOther) {
  constexpr int kKeys = 16;
  constexpr int kSteps = 10000;
  using map = tbb::concurrent_hash_map<TypeParam, value>;
  map m;
  in_threads([&](int thread) {
    std::mt19937 random{std::mt19937::result_type(thread)};
    for (int i = 0; i < kSteps; ++i) {
      const auto key = key_of<TypeParam>(int(random() % kKeys));
      typename map::const_accessor reader;
      if (random() % 2 == 0 && m.find(reader, key)) {
        EXPECT_EQ(reader->second.a, reader->second.b);
      }
      typename map::accessor writer;
      reader.release();
      m.insert(writer, key);
      ++writer->second.a;
      ++writer->second.b;
    }
  });
  int sum = 0;
  for (const auto& e : m) sum += e.second.a;
  EXPECT_EQ(sum, kThreads * kSteps);
}

// Of the threads that erase a key at the same time, in any way, one does.
TYPED_TEST(ConcurrentHashMaps, ErasesEachKeyOnce) {
  constexpr int kKeys = 5000;
  using map = tbb::concurrent_hash_map<TypeParam, value>;
  map m;
  for (int i = 0; i < kKeys; ++i) m.insert({key_of<TypeParam>(i), value(i)});
  std::atomic<int> erased{0};
  in_threads([&](int thread) {
    int mine = 0;
    for (int i = 0; i < kKeys; ++i) {
      const auto key = key_of<TypeParam>(i);
      typename map::accessor writer;
      typename map::const_accessor reader;
      if (thread == 0) {
        mine += m.erase(key) ? 1 : 0;
      } else if (thread == 1) {
        mine += m.find(writer, key) && m.erase(writer) ? 1 : 0;
      } else {
        mine += m.find(reader, key) && m.erase(reader) ? 1 : 0;
      }
    }
    erased.fetch_add(mine, std::memory_order_relaxed);
  });
  EXPECT_EQ(erased.load(), kKeys);
  EXPECT_TRUE(m.empty());
  EXPECT_EQ(live.load(), 0);
}

// For each key, the insertions exceed the erasures by one or none, as the map says.
TYPED_TEST(ConcurrentHashMaps, EveryOperation) {
  constexpr int kKeys = 200;
  constexpr int kSteps = 20000;
  using map = tbb::concurrent_hash_map<TypeParam, value>;
  map m;
  std::vector<std::array<int, kKeys>> sums(kThreads);
  in_threads([&](int thread) {
    std::mt19937 random{std::mt19937::result_type(thread)};
    auto& sum = sums[std::size_t(thread)];
    for (int i = 0; i < kSteps; ++i) {
      const int k = int(random() % kKeys);
      const auto key = key_of<TypeParam>(k);
      typename map::accessor writer;
      typename map::const_accessor reader;
      switch (random() % 8) {
        case 0:
          sum[std::size_t(k)] += m.insert({key, value(k)}) ? 1 : 0;
          break;
        case 1:
          sum[std::size_t(k)] += m.insert(reader, key) ? 1 : 0;
          EXPECT_EQ(reader->second.a, reader->second.b);
          break;
        case 2:
          sum[std::size_t(k)] += m.emplace(writer, key, k) ? 1 : 0;
          writer->second.a = writer->second.b = i;
          if (random() % 2 == 0) sum[std::size_t(k)] -= m.erase(writer) ? 1 : 0;
          break;
        case 3:
          sum[std::size_t(k)] -= m.erase(key) ? 1 : 0;
          break;
        case 4:
          if (m.find(reader, key)) sum[std::size_t(k)] -= m.erase(reader) ? 1 : 0;
          break;
        case 5:
          if (m.find(writer, key)) {
            EXPECT_EQ(writer->first, key);
            ++writer->second.a;
            ++writer->second.b;
          }
          break;
        case 6:
          if (m.find(reader, key)) {
            EXPECT_EQ(reader->second.a, reader->second.b);
          }
          break;
        default:
          m.count(key);
      }
    }
  });
  std::size_t size = 0;
  for (int k = 0; k < kKeys; ++k) {
    int sum = 0;
    for (const auto& of : sums) sum += of[std::size_t(k)];
    EXPECT_EQ(m.count(key_of<TypeParam>(k)), std::size_t(sum));
    size += std::size_t(sum);
  }
  EXPECT_EQ(m.size(), size);
  EXPECT_EQ(live.load(), int(size));
  m.clear();
  EXPECT_EQ(live.load(), 0);
}

// What a comparison reads may be freed when erase() has returned.
struct text_compare {
  static std::size_t hash(const char* text) { return std::size_t(text[0]); }
  static bool equal(const char* a, const char* b) { return a[0] == b[0]; }
};

TEST(ConcurrentHashMap, KeysThatPointToFreedMemory) {
  tbb::concurrent_hash_map<const char*, int, text_compare> m;
  in_threads([&](int thread) {
    for (int i = 0; i < 20000; ++i) {
      if (thread != 0) {
        decltype(m)::const_accessor reader;
        m.find(reader, "a");
        m.count("a");
        continue;
      }
      auto text = std::make_unique<char[]>(1);
      text[0] = 'a';
      EXPECT_TRUE(m.insert({text.get(), i}));
      EXPECT_TRUE(m.erase("a"));
      text[0] = 'b';
    }
  });
}

// Nodes of erased elements are freed on the way.
template <typename T>
struct counting_allocator {
  using value_type = T;
  static inline std::atomic<long> bytes{0};

  counting_allocator() = default;
  template <typename U>
  counting_allocator(const counting_allocator<U>&) {}
  T* allocate(std::size_t n) {
    add(long(n * sizeof(T)));
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    add(-long(n * sizeof(T)));
    std::allocator<T>().deallocate(p, n);
  }
  static void add(long n) {
    counting_allocator<char>::bytes.fetch_add(n, std::memory_order_relaxed);
  }
  bool operator==(const counting_allocator&) const { return true; }
  bool operator!=(const counting_allocator&) const { return false; }
};

TEST(ConcurrentHashMap, FreesErasedNodes) {
  std::atomic<long>& bytes = counting_allocator<char>::bytes;
  {
    tbb::concurrent_hash_map<int, int, tbb::tbb_hash_compare<int>,
                             counting_allocator<std::pair<const int, int>>>
        m;
    for (int i = 0; i < 20000; ++i) {
      EXPECT_TRUE(m.insert({i, i}));
      EXPECT_TRUE(m.erase(i));
    }
    EXPECT_LT(bytes.load(), 40000);
  }
  EXPECT_EQ(bytes.load(), 0);
}

// Threads that iterate may find elements at the same time.
TEST(ConcurrentHashMap, FindsDuringIteration) {
  tbb::concurrent_hash_map<int, int> m;
  for (int i = 0; i < 3000; ++i) m.insert({i, 0});
  tbb::parallel_for(m.range(), [&](const decltype(m)::range_type& range) {
    for (const auto& e : range) {
      decltype(m)::accessor writer;
      EXPECT_TRUE(m.find(writer, e.first));
      ++writer->second;
    }
  });
  for (const auto& e : m) EXPECT_EQ(e.second, 1);
}

}  // namespace
