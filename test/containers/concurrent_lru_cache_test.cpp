// SPDX-License-Identifier: Apache-2.0
// concurrent_lru_cache: what is made, what is kept, and for how long.
#include <gtest/gtest.h>
#include <tbb/concurrent_lru_cache.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

std::string spell(int n) { return std::string(std::size_t(n), 'x'); }

// Counts how often each value is made, and how many exist.
struct Counted {
  static inline std::atomic<int> alive{0};
  int key;
  explicit Counted(int k) : key(k) { ++alive; }
  Counted(Counted&& other) noexcept : key(other.key) { ++alive; }
  ~Counted() { --alive; }
};

TEST(ConcurrentLruCache, HasItsTypes) {
  using Cache = tbb::concurrent_lru_cache<int, std::string>;
  EXPECT_TRUE((std::is_same<Cache::key_type, int>::value));
  EXPECT_TRUE((std::is_same<Cache::value_type, std::string>::value));
  EXPECT_TRUE((std::is_same<Cache::value_function_type, std::string (*)(int)>::value));
  EXPECT_TRUE((std::is_same<Cache::handle, Cache::handle_object>::value));
  EXPECT_FALSE(std::is_copy_constructible<Cache>::value);
  EXPECT_FALSE(std::is_copy_constructible<Cache::handle>::value);
  EXPECT_TRUE(std::is_nothrow_move_assignable<Cache::handle>::value);
}

TEST(ConcurrentLruCache, MakesAndKeeps) {
  int calls = 0;
  auto make = [&calls](int key) {
    ++calls;
    return spell(key);
  };
  tbb::concurrent_lru_cache<int, std::string, decltype(make)> cache(make, 2);
  using Handle = decltype(cache)::handle;
  Handle none;
  EXPECT_FALSE(none);
  Handle three = cache[3];
  EXPECT_TRUE(bool(three));
  EXPECT_EQ(three.value(), "xxx");
  Handle again = cache[3];
  EXPECT_EQ(&again.value(), &three.value());
  EXPECT_EQ(calls, 1);
  none = std::move(three);
  EXPECT_FALSE(three);
  EXPECT_EQ(none.value(), "xxx");
  none = Handle();
  again = Handle();
  // 3 has no handle; two more are kept beside it, then the oldest goes.
  {
    Handle four = cache[4];
  }
  {
    Handle now = cache[3];
  }
  EXPECT_EQ(calls, 2);
  {
    Handle five = cache[5];
  }
  EXPECT_EQ(calls, 3);
  {
    Handle now = cache[3];
  }  // used more recently than 4
  EXPECT_EQ(calls, 3);
  {
    Handle now = cache[4];
  }
  EXPECT_EQ(calls, 4);
}

TEST(ConcurrentLruCache, ValuesInUseStayAndOthersGo) {
  {
    auto make = [](int key) { return Counted(key); };
    tbb::concurrent_lru_cache<int, Counted, decltype(make)> cache(make, 0);
    {
      std::vector<decltype(cache)::handle> handles;
      for (int i = 0; i < 10; ++i) handles.push_back(cache[i % 5]);
      EXPECT_EQ(Counted::alive, 5);
      for (int i = 0; i < 10; ++i) EXPECT_EQ(handles[std::size_t(i)].value().key, i % 5);
    }
    EXPECT_EQ(Counted::alive, 0);
    {
      const auto one = cache[1];
    }
    EXPECT_EQ(Counted::alive, 0);
  }
  {
    auto make = [](int key) { return Counted(key); };
    tbb::concurrent_lru_cache<int, Counted, decltype(make)> cache(make, 3);
    for (int i = 0; i < 10; ++i) cache[i];
    EXPECT_EQ(Counted::alive, 3);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(ConcurrentLruCache, AFunctionMayThrow) {
  int calls = 0;
  auto make = [&calls](int key) {
    if (++calls == 1) throw std::runtime_error("first");
    return key;
  };
  tbb::concurrent_lru_cache<int, int, decltype(make)> cache(make, 1);
  EXPECT_THROW(cache[7], std::runtime_error);
  EXPECT_EQ(cache[7].value(), 7);
  EXPECT_EQ(calls, 2);
}

TEST(ConcurrentLruCache, AValueMayUseTheCache) {
  struct Recursive {
    tbb::concurrent_lru_cache<int, std::int64_t, std::function<std::int64_t(int)>>* cache = nullptr;
    std::int64_t operator()(int n) const {
      return n < 2 ? n : (*cache)[n - 1].value() + (*cache)[n - 2].value();
    }
  } fibonacci;
  tbb::concurrent_lru_cache<int, std::int64_t, std::function<std::int64_t(int)>> cache(
      [&](int n) { return fibonacci(n); }, 100);
  fibonacci.cache = &cache;
  EXPECT_EQ(cache[50].value(), 12586269025);
}

// Each value is made once for all threads that ask for it while it is in use.
TEST(ConcurrentLruCache, ThreadsShareValues) {
  constexpr int kThreads = 4, kKeys = 7;
  std::atomic<int> made{0}, failures{0};
  auto make = [&](int key) {
    if (made.fetch_add(1) % 10 == 9) {
      ++failures;
      throw std::runtime_error("now and then");
    }
    return Counted(key);
  };
  {
    tbb::concurrent_lru_cache<int, Counted, decltype(make)> cache(make, 2);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2000; ++i) {
          const int key = (i * (t + 1)) % kKeys;
          try {
            const auto handle = cache[key];
            ASSERT_EQ(handle.value().key, key);
          } catch (const std::runtime_error&) {
          }
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_LE(Counted::alive, 2);
  }
  EXPECT_EQ(Counted::alive, 0);
  EXPECT_GT(failures, 0);
}

}  // namespace
