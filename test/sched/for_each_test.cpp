// SPDX-License-Identifier: Apache-2.0
// parallel_for_each: every item once, for all kinds of iterators and items.
#include <gtest/gtest.h>
#include <tbb/parallel_do.h>
#include <tbb/parallel_for_each.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <forward_list>
#include <iterator>
#include <list>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "helped.hpp"

namespace {

// Counts how often each number was seen.
class Seen {
 public:
  explicit Seen(std::size_t n) : times_(n) {}
  void operator()(std::size_t i) { ++times_.at(i); }
  ::testing::AssertionResult each_once() const {
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (times_[i] != 1) {
        return ::testing::AssertionFailure() << i << " was seen " << times_[i] << " times";
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  std::vector<std::atomic<int>> times_;
};

// An input iterator that counts from `next`. It yields move-only items and detects two threads that
// use it at the same time.
class Source {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = std::unique_ptr<std::size_t>;
  using difference_type = std::ptrdiff_t;
  using pointer = value_type*;
  using reference = value_type;

  Source() = default;
  Source(std::size_t* next, std::size_t end) : next_(next), end_(end) {}
  value_type operator*() const { return std::make_unique<std::size_t>(*next_); }
  Source& operator++() {
    ++*next_;
    return *this;
  }
  bool operator==(const Source&) const { return next_ == nullptr || *next_ == end_; }
  bool operator!=(const Source& other) const { return !(*this == other); }

 private:
  std::size_t* next_ = nullptr;
  std::size_t end_ = 0;
};

template <typename Container>
void check_container(std::size_t n) {
  Container items;
  for (std::size_t i = 0; i < n; ++i) items.insert(items.end(), i);
  {
    Seen seen(n);
    tbb::parallel_for_each(items, [&](const std::size_t& i) { seen(i); });
    EXPECT_TRUE(seen.each_once()) << n;
  }
  {
    Seen seen(n);
    tbb::parallel_for_each(std::as_const(items), [&](std::size_t i) { seen(i); });
    EXPECT_TRUE(seen.each_once()) << n;
  }
  {
    Seen seen(n);
    tbb::task_group_context context;
    tbb::parallel_for_each(items.begin(), items.end(), [&](std::size_t i) { seen(i); }, context);
    tbb::parallel_for_each(std::move(items), [](std::size_t) {}, context);
    EXPECT_TRUE(seen.each_once()) << n;
  }
}

template <typename Items>
class ForEach : public ::testing::Test {};
using Containers =
    ::testing::Types<std::vector<std::size_t>, std::list<std::size_t>, std::set<std::size_t>>;
TYPED_TEST_SUITE(ForEach, Containers);

TYPED_TEST(ForEach, EveryLength) {
  for (std::size_t n = 0; n < 70; ++n) check_container<TypeParam>(n);
  for (const std::size_t n : {1000U, 1001U, 30000U}) check_container<TypeParam>(n);
}

TEST(ForEachItem, ElementsOfArraysAreChangedInPlace) {
  int numbers[1000] = {};
  tbb::parallel_for_each(numbers, [](int& i) { ++i; });
  tbb::parallel_for_each(std::begin(numbers), std::end(numbers), [](int& i) { ++i; });
  EXPECT_EQ(std::count(std::begin(numbers), std::end(numbers), 2), 1000);
}

TEST(ForEachItem, ForwardIterators) {
  std::forward_list<std::size_t> items;
  const std::size_t n = 5000;
  for (std::size_t i = 0; i < n; ++i) items.push_front(i);
  Seen seen(n);
  tbb::parallel_for_each(items, [&](std::size_t& i) {
    if (i % 500 == 0) test::work_a_little();
    seen(i);
  });
  EXPECT_TRUE(seen.each_once());
}

TEST(ForEachItem, InputIteratorsGiveMoveOnlyItems) {
  for (const std::size_t n : {0U, 1U, 2U, 33U, 5000U}) {
    std::size_t next = 0;
    Seen seen(n);
    tbb::parallel_for_each(Source(&next, n), Source(), [&](std::unique_ptr<std::size_t> i) {
      if (*i % 500 == 0) test::work_a_little();
      seen(*i);
    });
    EXPECT_TRUE(seen.each_once());
    next = 0;
    Seen again(n);
    tbb::parallel_for_each(Source(&next, n), Source(),
                           [&](std::unique_ptr<std::size_t>& i) { again(*i); });
    EXPECT_TRUE(again.each_once());
  }
  std::istringstream text("1 2 3 4 5 6 7 8 9 10");
  std::atomic<int> sum{0};
  tbb::parallel_for_each(std::istream_iterator<int>(text), std::istream_iterator<int>(),
                         [&](int i) { sum += i; });
  EXPECT_EQ(sum, 55);
}

TEST(ForEachItem, MoveIteratorsGiveRvalues) {
  std::vector<std::unique_ptr<int>> items;
  for (int i = 0; i < 1000; ++i) items.push_back(std::make_unique<int>(i));
  std::atomic<int> sum{0};
  tbb::parallel_for_each(
      std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()),
      [&](std::unique_ptr<int>&& i) { sum += *std::unique_ptr<int>(std::move(i)); });
  EXPECT_EQ(sum, 499500);
  EXPECT_EQ(items[7], nullptr);
}

TEST(ForEachItem, ProxiesAreItems) {
  std::vector<bool> bits(1000, true);
  std::atomic<int> sum{0};
  tbb::parallel_for_each(bits, [&](bool bit) { sum += bit; });
  EXPECT_EQ(sum, 1000);
}

struct Steps {
  int taken = 0;
  void step() { ++taken; }
};

TEST(ForEachItem, ABodyMayTakeOnlyProxies) {
  std::vector<bool> bits(64, true);
  tbb::parallel_for_each(bits.begin(), bits.end(),
                         [](std::vector<bool>::reference bit) { static_cast<void>(bool(bit)); });
}

TEST(ForEachItem, MemberFunctionsAreBodies) {
  std::vector<Steps> items(1000);
  tbb::parallel_for_each(items, &Steps::step);
  EXPECT_TRUE(std::all_of(items.begin(), items.end(), [](const Steps& s) { return s.taken == 1; }));
}

// A tree in which a node of height h has h children.
struct AddsChildren {
  std::atomic<int>* visited;
  void operator()(int height, tbb::feeder<int>& feeder) const {
    ++*visited;
    for (int i = 0; i < height; ++i) feeder.add(i);
  }
};

TEST(ForEachFeeder, AddedItemsAreVisited) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> visited{0};
    const int root = 13;
    tbb::parallel_for_each(&root, &root + 1, AddsChildren{&visited});
    EXPECT_EQ(visited, 1 << root);
    visited = 0;
    std::list<int> roots{3, 4, 5};
    tbb::parallel_for_each(roots, AddsChildren{&visited});
    EXPECT_EQ(visited, 8 + 16 + 32);
    std::size_t next = 3;
    visited = 0;
    tbb::parallel_for_each(Source(&next, 6), Source(),
                           [&](std::unique_ptr<std::size_t> height,
                               tbb::feeder<std::unique_ptr<std::size_t>>& feeder) {
                             ++visited;
                             for (std::size_t i = 0; i < *height; ++i) {
                               feeder.add(std::make_unique<std::size_t>(i));
                             }
                           });
    EXPECT_EQ(visited, 8 + 16 + 32);
  }
}

TEST(ForEachFeeder, ClassicNames) {
  struct Body {
    std::atomic<int>* visited;
    void operator()(int height, tbb::parallel_do_feeder<int>& feeder) const {
      ++*visited;
      for (int i = 0; i < height; ++i) feeder.add(i);
    }
  };
  std::atomic<int> visited{0};
  std::vector<int> roots(2, 5);
  const std::vector<int>& constant = roots;
  tbb::task_group_context context;
  tbb::parallel_do(roots, Body{&visited});
  tbb::parallel_do(constant, Body{&visited});
  tbb::parallel_do(roots, Body{&visited}, context);
  tbb::parallel_do(constant, Body{&visited}, context);
  tbb::parallel_do(roots.begin(), roots.end(), Body{&visited});
  tbb::parallel_do(roots.begin(), roots.end(), Body{&visited}, context);
  EXPECT_EQ(visited, 6 * 2 * 32);
}

struct alignas(256) Wide {
  explicit Wide(int i) : number(i) {}
  int number;
};

TEST(ForEachFeeder, OverAlignedItems) {
  std::atomic<int> sum{0};
  std::atomic<int> misplaced{0};
  std::list<Wide> roots;
  for (int i = 0; i < 100; ++i) roots.emplace_back(1);
  tbb::parallel_for_each(roots, [&](const Wide& w, tbb::feeder<Wide>& feeder) {
    misplaced += reinterpret_cast<std::uintptr_t>(&w) % alignof(Wide) != 0;
    sum += w.number;
    if (w.number < 5) feeder.add(Wide(w.number + 1));
  });
  EXPECT_EQ(sum, 1500);
  EXPECT_EQ(misplaced, 0);
}

// Throws when the countdown reaches 0: in a copy, an increment or a call.
struct Countdown {
  std::atomic<int> left{0};
  void step() {
    if (--left == 0) throw left.load();
  }
};
Countdown countdown;

struct Fragile : test::Counted {
  using Counted::Counted;
  Fragile(const Fragile& other) : Counted(other) { countdown.step(); }
  Fragile(Fragile&& other) : Counted(other) { countdown.step(); }
};

struct FragileSource {
  using iterator_category = std::input_iterator_tag;
  using value_type = Fragile;
  using difference_type = std::ptrdiff_t;
  using pointer = Fragile*;
  using reference = Fragile&;

  Fragile* item;
  int* left;
  Fragile& operator*() const { return *item; }
  FragileSource& operator++() {
    countdown.step();
    --*left;
    return *this;
  }
  bool operator!=(const FragileSource&) const { return *left != 0; }
  bool operator==(const FragileSource&) const { return *left == 0; }
};

TEST(ForEachErrors, NothingIsLeakedWhereverItThrows) {
  for (int at = 1; at < 300; at += at < 40 ? 1 : 13) {
    test::Balance balance;
    bool thrown = false;
    {
      Fragile item(balance);
      int left = 60;
      countdown.left = at;
      try {
        tbb::parallel_for_each(FragileSource{&item, &left}, FragileSource{&item, &left},
                               [&](const Fragile& i, tbb::feeder<Fragile>& feeder) {
                                 countdown.step();
                                 if (countdown.left > 100) feeder.add(i);
                               });
      } catch (int) {
        thrown = true;
      }
    }
    EXPECT_EQ(balance.alive, 0) << at;
    EXPECT_EQ(thrown, at < 120 || countdown.left <= 0) << at;
  }
}

TEST(ForEachErrors, TheBodysExceptionReachesTheCaller) {
  constexpr int kItems = 10000;
  std::vector<int> items(kItems);
  std::list<int> list(kItems);
  for (int at = 0; at < 800; at += 111) {
    std::atomic<int> begun{0};
    const auto body = [&](int&) {
      const int index = begun++;
      if (index == at) throw std::runtime_error("here");
      if (index > at) test::work_a_little();
    };
    tbb::task_group_context context;
    EXPECT_THROW(tbb::parallel_for_each(items, body), std::runtime_error);
    begun = 0;
    EXPECT_THROW(tbb::parallel_for_each(list, body, context), std::runtime_error);
    EXPECT_TRUE(context.is_group_execution_cancelled());
    EXPECT_GT(begun, at);
    EXPECT_LT(begun, kItems);
  }
}

TEST(ForEachErrors, CancellationEndsIt) {
  std::vector<int> items(100000);
  tbb::task_group_context context;
  std::atomic<int> begun{0};
  tbb::parallel_for_each(
      items,
      [&](int, tbb::feeder<int>& feeder) {
        feeder.add(1);
        if (++begun == 100) context.cancel_group_execution();
        // Leave time for the calls that run in other threads.
        if (begun >= 100) test::work_a_little();
      },
      context);
  EXPECT_GE(begun, 100);
  EXPECT_LT(begun, 10000);
  begun = 0;
  tbb::parallel_for_each(items, [&](int) { ++begun; }, context);
  EXPECT_EQ(begun, 0);
}

TEST(ForEachNested, OneInTheOther) {
  std::vector<int> outer(50);
  std::list<int> inner(50);
  std::atomic<int> sum{0};
  tbb::parallel_for_each(outer, [&](int) {
    tbb::parallel_for_each(inner, [&](int) { ++sum; });
    try {
      tbb::parallel_for_each(inner, [&](int) { throw 1; });
    } catch (int i) {
      sum += i;
    }
  });
  EXPECT_EQ(sum, 50 * 51);
}

}  // namespace
