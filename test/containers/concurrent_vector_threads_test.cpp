// SPDX-License-Identifier: Apache-2.0
// concurrent_vector while several threads grow and read it.
#include <gtest/gtest.h>
#include <tbb/concurrent_vector.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#include "vector_allocators.hpp"

namespace {

constexpr int kThreads = 4;

template <typename F>
void in_threads(const F& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&f, i] { f(i); });
  for (std::thread& t : threads) t.join();
}

TEST(ConcurrentVectorThreads, PushesAreNeitherLostNorDoubled) {
  constexpr int kPushes = 20000;
  tbb::concurrent_vector<int> v;
  in_threads([&](int t) {
    std::size_t last = 0;
    for (int i = 0; i < kPushes; ++i) {
      const auto it = v.push_back(t * kPushes + i);
      ASSERT_EQ(*it, t * kPushes + i);
      // The indices of one thread grow.
      const std::size_t index = std::size_t(it - v.begin());
      ASSERT_TRUE(i == 0 || index > last);
      last = index;
    }
  });
  ASSERT_EQ(v.size(), std::size_t(kThreads) * kPushes);
  std::vector<int> all(v.begin(), v.end());
  std::sort(all.begin(), all.end());
  for (int i = 0; i < kThreads * kPushes; ++i) ASSERT_EQ(all[std::size_t(i)], i);
}

// Random growth of all kinds. Each call notes what it has got; afterwards the pieces must cover the
// vector exactly, as if the calls had been made one after the other.
TEST(ConcurrentVectorThreads, GrowthIsSequential) {
  struct Piece {
    std::size_t first, count;
    int value;
  };
  for (unsigned seed = 0; seed < 20; ++seed) {
    tbb::concurrent_vector<int> v;
    std::vector<Piece> pieces[kThreads];
    in_threads([&](int t) {
      std::minstd_rand random(seed * 10 + unsigned(t));
      for (int i = 0; i < 300; ++i) {
        const int value = t * 1000 + i + 1;
        const std::size_t n = random() % 40;
        tbb::concurrent_vector<int>::iterator it;
        std::size_t count = n;
        switch (random() % 4) {
          case 0:
            it = v.push_back(value);
            count = 1;
            break;
          case 1:
            it = v.grow_by(n, value);
            break;
          case 2: {
            const std::vector<int> copies(n, value);
            it = v.grow_by(copies.begin(), copies.end());
            break;
          }
          default: {
            const std::size_t target = v.size() + n;
            it = v.grow_to_at_least(target, value);
            count = target - std::size_t(it - v.begin());
            ASSERT_GE(v.capacity(), target);
          }
        }
        pieces[t].push_back({std::size_t(it - v.begin()), count, value});
        for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(it[std::ptrdiff_t(k)], value);
      }
    });
    std::vector<Piece> all;
    for (auto& some : pieces) all.insert(all.end(), some.begin(), some.end());
    std::erase_if(all, [](const Piece& p) { return p.count == 0; });
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.first < b.first; });
    std::size_t next = 0;
    for (const Piece& p : all) {
      ASSERT_EQ(p.first, next);
      for (std::size_t i = 0; i < p.count; ++i) ASSERT_EQ(v[next + i], p.value);
      next += p.count;
    }
    ASSERT_EQ(v.size(), next);
  }
}

// Readers take what is there by size, iterators and ranges, while others push.
TEST(ConcurrentVectorThreads, ReadersSeeMemoryForEveryElement) {
  tbb::concurrent_vector<std::atomic<int>> v;
  std::atomic<int> pushing{2};
  in_threads([&](int t) {
    if (t < 2) {
      for (int i = 0; i < 30000; ++i) v.emplace_back(1);
      --pushing;
      return;
    }
    while (pushing != 0) {
      const std::size_t size = v.size();
      ASSERT_LE(size, v.capacity());
      if (size == 0) continue;
      // 0 is what may be seen of one under construction in memory that is new; the value is 1
      // once the push has returned.
      v.at(size - 1);
      v[size / 2];
      std::size_t count = 0;
      for (auto it = v.cbegin(), end = v.cend(); it != end; ++it) ++count;
      ASSERT_GE(count, size);
      ASSERT_EQ(v.range().size() >= count, true);
    }
  });
  for (const std::atomic<int>& i : v) ASSERT_EQ(i, 1);
}

TEST(ConcurrentVectorThreads, GrowsInTasks) {
  tbb::concurrent_vector<long> v;
  tbb::parallel_for(0, 10000, [&](int i) {
    v.push_back(i);
    if (i % 100 == 0) v.grow_by(3, -1);
  });
  EXPECT_EQ(v.size(), 10300u);
  long sum = 0;
  for (const long i : v) sum += i;
  EXPECT_EQ(sum, 10000L * 9999 / 2 - 300);
}

// A thread that has claimed an element but does not run does not keep others from growing the
// vector beyond it.
TEST(ConcurrentVectorThreads, NoThreadWaitsForAConstructor) {
  std::atomic<bool> inside{false}, go_on{false};
  struct Slow {
    Slow(std::atomic<bool>* in, std::atomic<bool>* go) {
      if (in == nullptr) return;
      *in = true;
      while (!*go) std::this_thread::yield();
    }
  };
  tbb::concurrent_vector<Slow> v;
  std::thread slow([&] { v.emplace_back(&inside, &go_on); });
  while (!inside) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) v.emplace_back(nullptr, nullptr);
  v.grow_to_at_least(500, Slow(nullptr, nullptr));
  EXPECT_EQ(v.size(), 1001u);
  go_on = true;
  slow.join();
}

}  // namespace
