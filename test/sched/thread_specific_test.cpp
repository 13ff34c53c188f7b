// SPDX-License-Identifier: Apache-2.0
// enumerable_thread_specific, combinable and flattened2d.
#include <gtest/gtest.h>
#include <tbb/combinable.h>
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

constexpr int kThreads = 4;

template <typename Function>
void run_threads(int count, const Function& function) {
  std::vector<std::thread> threads;
  // The threads run at the same time, because the id of an ended thread may be reused.
  std::atomic<int> done{0};
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      function(t);
      done.fetch_add(1);
      while (done.load() < count) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Counts live objects, and throws on demand.
struct Counted {
  static std::atomic<int> alive;
  static std::atomic<int> until_throw;
  static void maybe_throw() {
    if (until_throw.fetch_sub(1) == 1) throw std::runtime_error("made to");
  }
  Counted() {
    maybe_throw();
    ++alive;
  }
  Counted(const Counted& other) : value(other.value) {
    maybe_throw();
    ++alive;
  }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
  int value = 0;
};
std::atomic<int> Counted::alive{0};
std::atomic<int> Counted::until_throw{0};

// An allocator that counts its blocks, together with those of its rebound copies.
struct Blocks {
  static std::atomic<int> count;
  static std::atomic<int> until_throw;
};
std::atomic<int> Blocks::count{0};
std::atomic<int> Blocks::until_throw{0};
template <typename T>
struct CountingAllocator {
  using value_type = T;
  CountingAllocator() = default;
  template <typename U>
  CountingAllocator(const CountingAllocator<U>&) {}
  T* allocate(std::size_t n) {
    if (Blocks::until_throw.fetch_sub(1) == 1) throw std::bad_alloc();
    ++Blocks::count;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    --Blocks::count;
    std::allocator<T>().deallocate(p, n);
  }
};

template <typename T>
using Counting = tbb::enumerable_thread_specific<T, CountingAllocator<T>>;

// ---- local() ------------------------------------------------------------------------------------
TEST(ThreadSpecific, EachThreadHasItsOwn) {
  tbb::enumerable_thread_specific<int> ets;
  EXPECT_TRUE(ets.empty());
  std::mutex mutex;
  std::set<int*> addresses;
  run_threads(kThreads, [&](int thread) {
    bool exists = true;
    int& mine = ets.local(exists);
    EXPECT_FALSE(exists);
    EXPECT_EQ(mine, 0);
    mine = thread + 1;
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(&ets.local(), &mine);
      EXPECT_EQ(&ets.local(exists), &mine);
      EXPECT_TRUE(exists);
    }
    std::lock_guard<std::mutex> lock(mutex);
    addresses.insert(&mine);
  });
  EXPECT_EQ(addresses.size(), std::size_t(kThreads));
  EXPECT_EQ(ets.size(), std::size_t(kThreads));
  EXPECT_EQ(std::accumulate(ets.begin(), ets.end(), 0), 1 + 2 + 3 + 4);
}

// More threads than the first tables have room for, while other threads do look-ups.
TEST(ThreadSpecific, ManyThreads) {
  constexpr int kMany = 70;
  tbb::enumerable_thread_specific<long> ets(5L);
  std::atomic<int> known{0};
  run_threads(kMany, [&](int) {
    long* const first = &ets.local();
    // Later look-ups find the element in tables that other threads made.
    known.fetch_add(1);
    while (known.load() < kMany) {
      EXPECT_EQ(&ets.local(), first);
      std::this_thread::yield();
    }
    for (int i = 0; i < 200; ++i) {
      ++ets.local();
      if (i % 50 == 0) {
        EXPECT_GE(ets.size(), 1U);
        EXPECT_LE(ets.size(), std::size_t(kMany));
      }
    }
  });
  EXPECT_EQ(ets.size(), std::size_t(kMany));
  for (long value : ets) EXPECT_EQ(value, 205);
}

TEST(ThreadSpecific, SeveralObjects) {
  std::vector<tbb::enumerable_thread_specific<int>> many(20);
  run_threads(kThreads, [&](int thread) {
    for (int i = 0; i < 20; ++i) many[std::size_t(i)].local() = 100 * thread + i;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(many[std::size_t(i)].local(), 100 * thread + i);
  });
}

TEST(ThreadSpecific, ElementsShareNoCacheLine) {
  tbb::enumerable_thread_specific<char> ets;
  run_threads(2, [&](int) { ets.local() = 1; });
  for (const char& element : ets) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&element) % 64, 0U);
  }
}

// ---- construction -------------------------------------------------------------------------------
struct Pair {
  Pair(int a, std::string b) : first(a), second(std::move(b)) {}
  int first;
  std::string second;
};
struct OneInt {
  explicit OneInt(int a) : value(a) {}
  int value;
};

TEST(ThreadSpecific, WaysToMakeAnElement) {
  EXPECT_EQ(tbb::enumerable_thread_specific<int>().local(), 0);
  EXPECT_EQ(tbb::enumerable_thread_specific<int>(7).local(), 7);
  const std::string exemplar = "exemplar";
  EXPECT_EQ(tbb::enumerable_thread_specific<std::string>(exemplar).local(), "exemplar");
  EXPECT_EQ(tbb::enumerable_thread_specific<std::string>(std::string("moved")).local(), "moved");
  EXPECT_EQ(tbb::enumerable_thread_specific<std::string>("from text").local(), "from text");
  EXPECT_EQ(tbb::enumerable_thread_specific<std::string>(3, 'x').local(), "xxx");
  EXPECT_EQ(tbb::enumerable_thread_specific<OneInt>(9).local().value, 9);
  tbb::enumerable_thread_specific<Pair> pairs(4, "four");
  EXPECT_EQ(pairs.local().first, 4);
  EXPECT_EQ(pairs.local().second, "four");
  int calls = 0;
  tbb::enumerable_thread_specific<int> called([&calls] { return ++calls + 10; });
  EXPECT_EQ(called.local(), 11);
  EXPECT_EQ(called.local(), 11);
  EXPECT_EQ(calls, 1);
  tbb::enumerable_thread_specific<std::unique_ptr<int>> pointers(
      [] { return std::unique_ptr<int>(new int(3)); });
  EXPECT_EQ(*pointers.local(), 3);
  tbb::enumerable_thread_specific<std::atomic<int>> immovable;
  immovable.local().store(1);
  using Function = std::function<int()>;
  const tbb::enumerable_thread_specific<int> from_function(Function([] { return 1; }));
  EXPECT_EQ(from_function.combine(std::plus<int>()), 1);
}

TEST(ThreadSpecific, CopiesKeepTheirThreads) {
  Counting<int> original(5);
  run_threads(kThreads, [&](int thread) {
    original.local() = thread;
    static std::atomic<int> ready{0};
    ready.fetch_add(1);
    while (ready.load() < kThreads) std::this_thread::yield();
    if (thread == 0) {
      const Counting<int>& constant = original;
      tbb::enumerable_thread_specific<int, tbb::cache_aligned_allocator<int>,
                                      tbb::ets_key_per_instance>
          other_type(constant);
      Counting<int> copy(constant);
      EXPECT_EQ(copy.size(), std::size_t(kThreads));
      EXPECT_EQ(copy.local(), 0);
      copy.local() = 50;
      EXPECT_EQ(original.local(), 0);
      EXPECT_EQ(other_type.local(), 0);
      std::thread([&] { EXPECT_EQ(copy.local(), 5); }).join();
      other_type.local() = 70;
      copy = other_type;
      EXPECT_EQ(copy.local(), 70);
      int* const address = &copy.local();
      Counting<int> moved(std::move(copy));
      EXPECT_EQ(&moved.local(), address);
      EXPECT_TRUE(copy.empty());
      EXPECT_EQ(copy.local(), 5);
      copy = std::move(moved);
      EXPECT_EQ(&copy.local(), address);
      copy = std::move(other_type);
      EXPECT_TRUE(other_type.empty());
      EXPECT_EQ(copy.local(), 70);
      Counting<int> last(tbb::enumerable_thread_specific<int>(8));
      EXPECT_TRUE(last.empty());
      EXPECT_EQ(last.local(), 8);
      last = copy;
      EXPECT_EQ(last.size(), std::size_t(kThreads));
      Counting<int>& same = last;
      last = same;
      EXPECT_EQ(last.local(), 70);
    }
  });
}

TEST(ThreadSpecific, NothingIsLeaked) {
  {
    Counting<Counted> ets;
    run_threads(20, [&](int) { ets.local(); });
    EXPECT_EQ(Counted::alive.load(), 20);
    EXPECT_GE(Blocks::count.load(), 20);
    Counting<Counted> copy(ets);
    EXPECT_EQ(Counted::alive.load(), 40);
    ets.clear();
    EXPECT_EQ(Counted::alive.load(), 20);
    EXPECT_TRUE(ets.empty());
    ets.local();
    EXPECT_EQ(ets.size(), 1U);
  }
  EXPECT_EQ(Counted::alive.load(), 0);
  EXPECT_EQ(Blocks::count.load(), 0);
}

// The element and the allocator throw at each point in turn. The caller sees the exception, nothing
// leaks, and the next call succeeds.
TEST(ThreadSpecific, ExceptionsPass) {
  for (std::atomic<int>* when : {&Counted::until_throw, &Blocks::until_throw}) {
    int thrown = 0;
    for (int n = 1; n <= 30; ++n) {
      const int alive = Counted::alive.load();
      {
        Counting<Counted> ets;
        run_threads(9, [&](int thread) {
          if (thread != 0) ets.local();
        });
        when->store(n);
        try {
          ets.local();
          Counting<Counted> copy(ets);
        } catch (const std::exception&) {
          ++thrown;
        }
        when->store(0);
        ets.local();
        EXPECT_EQ(ets.size(), 9U);
      }
      EXPECT_EQ(Counted::alive.load(), alive);
      EXPECT_EQ(Blocks::count.load(), 0);
    }
    EXPECT_GE(thrown, 9);
    EXPECT_LT(thrown, 30);
  }
}

// ---- iteration ----------------------------------------------------------------------------------
TEST(ThreadSpecific, Iterators) {
  using Ets = tbb::enumerable_thread_specific<int>;
  Ets ets;
  run_threads(5, [&](int thread) { ets.local() = thread; });
  EXPECT_TRUE((std::is_same<std::iterator_traits<Ets::iterator>::iterator_category,
                            std::random_access_iterator_tag>::value));
  std::sort(ets.begin(), ets.end());
  const Ets& constant = ets;
  Ets::const_iterator it = ets.begin();
  EXPECT_TRUE(it == constant.begin());
  EXPECT_TRUE(ets.begin() == it);
  EXPECT_TRUE(it != ets.end());
  EXPECT_EQ(it[3], 3);
  EXPECT_EQ(*(it + 2), 2);
  EXPECT_EQ(*(2 + it), 2);
  EXPECT_EQ(*++it, 1);
  EXPECT_EQ(*it++, 1);
  EXPECT_EQ(*it--, 2);
  EXPECT_EQ(*--it, 0);
  it += 4;
  EXPECT_EQ(*it, 4);
  it -= 2;
  EXPECT_EQ(*(it - 1), 1);
  EXPECT_EQ(ets.end() - it, 3);
  EXPECT_TRUE(it < ets.end() && it <= it && ets.end() > it && it >= it);
  EXPECT_EQ(std::vector<int>(constant.begin(), constant.end()), (std::vector<int>{0, 1, 2, 3, 4}));
  *ets.begin() = 9;
  EXPECT_EQ(*it.operator->(), 2);
}

// Whether both convert to each other, both have the elements' type without const, and both compare.
template <typename Iterator, typename ConstIterator, typename T>
constexpr bool are_of_container() {
  return std::is_convertible<Iterator, ConstIterator>::value &&
         std::is_convertible<ConstIterator, Iterator>::value &&
         std::is_assignable<ConstIterator&, Iterator>::value &&
         std::is_assignable<Iterator&, ConstIterator>::value &&
         std::is_same<typename std::iterator_traits<Iterator>::value_type, T>::value &&
         std::is_same<typename std::iterator_traits<ConstIterator>::value_type, T>::value &&
         std::is_same<typename std::iterator_traits<Iterator>::reference, T&>::value &&
         std::is_same<typename std::iterator_traits<ConstIterator>::reference, const T&>::value;
}

// A container of a program whose const functions iterate without const, as CGAL's
// Concurrent_compact_container does.
struct PerThread {
  using Lists = tbb::enumerable_thread_specific<std::vector<int>>;
  Lists lists;
  std::size_t size() const {
    std::size_t sum = 0;
    for (Lists::iterator it = lists.begin(); it != lists.end(); ++it) sum += it->size();
    return sum;
  }
};

TEST(ThreadSpecific, IteratorsConvertBothWays) {
  using Ets = tbb::enumerable_thread_specific<int>;
  static_assert(are_of_container<Ets::iterator, Ets::const_iterator, int>(), "");
  static_assert(
      !std::is_convertible<Ets::iterator, tbb::enumerable_thread_specific<long>::iterator>::value,
      "");
  PerThread per_thread;
  per_thread.lists.local().assign(5, 1);
  EXPECT_EQ(per_thread.size(), 5U);
  Ets ets;
  ets.local() = 3;
  const Ets& constant = ets;
  const Ets::iterator it = constant.begin();
  *it = 4;
  EXPECT_EQ(*constant.begin(), 4);
  EXPECT_EQ(constant.end() - it, 1);
  EXPECT_TRUE(it < constant.end() && constant.end() > it);
  const Ets::range_type range(constant.range());
  EXPECT_EQ(range.size(), 1U);
#if __cplusplus >= 202002L
  static_assert(std::random_access_iterator<Ets::iterator>);
  static_assert(std::random_access_iterator<Ets::const_iterator>);
#endif
}

// The members of a ContainerRange.
template <typename Range, typename T>
constexpr bool is_range_of() {
  return std::is_same<typename Range::value_type, T>::value &&
         std::is_same<typename Range::const_reference, const T&>::value &&
         std::is_same<typename Range::size_type, std::size_t>::value &&
         std::is_same<typename Range::difference_type, std::ptrdiff_t>::value;
}

TEST(ThreadSpecific, RangesAreContainerRanges) {
  using Ets = tbb::enumerable_thread_specific<std::string>;
  static_assert(is_range_of<Ets::range_type, std::string>(), "");
  static_assert(is_range_of<Ets::const_range_type, std::string>(), "");
  static_assert(std::is_same<Ets::range_type::reference, std::string&>::value, "");
  static_assert(std::is_same<Ets::const_range_type::reference, const std::string&>::value, "");
  static_assert(std::is_same<Ets::range_type::iterator, Ets::iterator>::value, "");
  static_assert(std::is_same<Ets::const_range_type::iterator, Ets::const_iterator>::value, "");
}

TEST(ThreadSpecific, Ranges) {
  using Ets = tbb::enumerable_thread_specific<int>;
  Ets ets;
  run_threads(5, [&](int) { ets.local() = 1; });
  Ets::range_type left = ets.range(2);
  EXPECT_EQ(left.size(), 5U);
  EXPECT_EQ(left.grainsize(), 2U);
  Ets::range_type right(left, tbb::split());
  for (int& element : left) element = 10;
  const Ets& constant = ets;
  Ets::const_range_type all = constant.range();
  int sum = 0;
  for (const int& element : all) sum += element;
  EXPECT_EQ(sum, 2 * 10 + 3);
  EXPECT_EQ(Ets::const_range_type(right).size(), 3U);
  EXPECT_TRUE((std::is_same<Ets::const_range_type::reference, const int&>::value));
}

TEST(ThreadSpecific, Combine) {
  tbb::enumerable_thread_specific<int> ets(100);
  EXPECT_EQ(ets.combine(std::plus<int>()), 100);
  EXPECT_TRUE(ets.empty());
  ets.local() = 5;
  EXPECT_EQ(ets.combine(std::plus<int>()), 5);
  run_threads(3, [&](int thread) { ets.local() = thread; });
  EXPECT_EQ(ets.combine([](int a, int b) { return a + b; }), 5 + 0 + 1 + 2);
  int calls = 0;
  ets.combine_each([&](int& element) {
    ++calls;
    element = 2;
  });
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(ets.combine(std::plus<int>()), 8);
}

TEST(Combinable, IsAThinView) {
  tbb::combinable<int> sum([] { return 1; });
  run_threads(kThreads, [&](int) { ++sum.local(); });
  EXPECT_EQ(sum.combine(std::plus<int>()), 2 * kThreads);
  bool exists = true;
  sum.local(exists);
  EXPECT_FALSE(exists);
  tbb::combinable<int> copy(sum);
  copy.local() = 100;
  EXPECT_EQ(sum.local(), 1);
  tbb::combinable<int> moved(std::move(copy));
  EXPECT_EQ(moved.local(), 100);
  copy = moved;
  EXPECT_EQ(copy.local(), 100);
  copy = std::move(moved);
  int total = 0;
  copy.combine_each([&](int element) { total += element; });
  EXPECT_EQ(total, 100 + 2 * kThreads);
  copy.clear();
  EXPECT_EQ(copy.combine(std::plus<int>()), 1);
  EXPECT_EQ(tbb::combinable<int>().local(), 0);
}

// ---- flattened2d --------------------------------------------------------------------------------
TEST(Flattened2d, SkipsEmptyRows) {
  using Rows = std::vector<std::vector<int>>;
  const Rows rows{{}, {1, 2}, {}, {}, {3}, {}};
  const tbb::flattened2d<Rows> flat(rows);
  EXPECT_EQ(std::vector<int>(flat.begin(), flat.end()), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(flat.size(), 3U);
  const auto part = tbb::flatten2d(rows, rows.begin() + 2, rows.end());
  EXPECT_EQ(std::vector<int>(part.begin(), part.end()), std::vector<int>{3});
  const Rows empty{{}, {}};
  const auto nothing = tbb::flatten2d(empty);
  EXPECT_TRUE(nothing.begin() == nothing.end());
  EXPECT_EQ(nothing.size(), 0U);
}

TEST(Flattened2d, OfThreads) {
  using Lists = tbb::enumerable_thread_specific<std::list<int>>;
  Lists lists;
  run_threads(kThreads, [&](int thread) {
    for (int i = 0; i < thread; ++i) lists.local().push_back(thread);
  });
  auto flat = tbb::flatten2d(lists);
  EXPECT_EQ(flat.size(), 6U);
  for (int& element : flat) element *= 10;
  int sum = 0;
  for (const auto& list : lists) sum += std::accumulate(list.begin(), list.end(), 0);
  EXPECT_EQ(sum, 10 * (1 + 4 + 9));
  const tbb::flattened2d<Lists>& constant = flat;
  tbb::flattened2d<Lists>::const_iterator it = flat.begin();
  EXPECT_TRUE(it == constant.begin());
  EXPECT_TRUE(it++ == constant.begin());
  EXPECT_EQ(std::distance(constant.begin(), constant.end()), 6);
}

TEST(Flattened2d, IteratorsConvertBothWays) {
  using Lists = tbb::enumerable_thread_specific<std::list<int>>;
  using Flat = tbb::flattened2d<Lists>;
  static_assert(std::is_same<Flat::value_type, int>::value, "");
  static_assert(are_of_container<Flat::iterator, Flat::const_iterator, int>(), "");
  Lists lists;
  lists.local() = {1, 2, 3};
  const Flat flat(lists);
  for (Flat::iterator it = flat.begin(); it != flat.end(); ++it) *it += 1;
  EXPECT_EQ(lists.local(), (std::list<int>{2, 3, 4}));
#if __cplusplus >= 202002L
  static_assert(std::forward_iterator<Flat::iterator>);
  static_assert(std::forward_iterator<Flat::const_iterator>);
#endif
}

}  // namespace
