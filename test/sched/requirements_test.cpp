// SPDX-License-Identifier: Apache-2.0
// The algorithms ask no more of functions and iterators than the specification does. Also compiled
// as C++17, in which `a != b` does not stand for `!(a == b)`.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <vector>

namespace {

// ---- functions ----------------------------------------------------------------------------------

using Range = tbb::blocked_range<int>;

int size_of(Range& r, int value) { return value + static_cast<int>(r.size()); }
int plus(int a, int b) { return a + b; }

TEST(Functions, ReductionsMayTakeTheRangeAsVariable) {
  EXPECT_EQ(tbb::parallel_reduce(Range(0, 1000), 0, size_of, plus), 1000);
  EXPECT_EQ(tbb::parallel_reduce(Range(0, 1000, 7), 0, size_of, plus, tbb::simple_partitioner()),
            1000);
  EXPECT_EQ(tbb::parallel_deterministic_reduce(Range(0, 1000, 7), 0, size_of, plus), 1000);
  // What the function does to its chunk concerns no other chunk.
  const auto empties = [](Range& r, int value) {
    value += static_cast<int>(r.size());
    while (r.is_divisible()) Range dropped(r, tbb::split());
    return value;
  };
  EXPECT_EQ(tbb::parallel_reduce(Range(0, 1000), 0, empties, plus), 1000);
  EXPECT_EQ(tbb::parallel_deterministic_reduce(Range(0, 1000, 7), 0, empties, plus), 1000);
  using Square = tbb::blocked_range2d<int>;
  const auto area = [](Square& r, int value) {
    value += static_cast<int>(r.rows().size() * r.cols().size());
    while (r.is_divisible()) Square dropped(r, tbb::split());
    return value;
  };
  EXPECT_EQ(tbb::parallel_reduce(Square(0, 30, 0, 40), 0, area, plus), 1200);
  tbb::affinity_partitioner affinity;
  EXPECT_EQ(tbb::parallel_reduce(Square(0, 30, 0, 40), 0, area, plus, affinity), 1200);
}

TEST(Functions, LoopsMayTakeTheIndexAsVariable) {
  for (const int step : {1, 3}) {
    std::vector<std::atomic<int>> calls(1000);
    tbb::parallel_for(0, 1000, step, [&](int& i) {
      ++calls[static_cast<std::size_t>(i)];
      i = 2000;  // a variable of this call
    });
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(calls[static_cast<std::size_t>(i)], i % step == 0 ? 1 : 0) << i;
    }
  }
  std::vector<int> items(100);
  tbb::parallel_for(items.data(), items.data() + 100, [](int*& item) { *item++ = 1; });
  EXPECT_EQ(items, std::vector<int>(100, 1));
}

// Says as what it was called.
struct Both {
  std::atomic<int>* as_const;
  char operator()() { return 'v'; }
  const char* operator()() const {
    ++*as_const;
    return "const";
  }
};

TEST(Functions, AreCalledAsConst) {
  std::atomic<int> as_const{0};
  Both both{&as_const};
  tbb::task_group group;
  group.run(both);
  group.run(Both{&as_const});
  group.run(group.defer(both));
  group.run_and_wait(both);
  EXPECT_EQ(as_const, 4);

  tbb::task_arena arena(2);
  static_assert(std::is_same<decltype(arena.execute(both)), const char*>::value, "");
  EXPECT_STREQ(arena.execute(both), "const");
  EXPECT_STREQ(arena.execute(Both{&as_const}), "const");
  EXPECT_STREQ(tbb::this_task_arena::isolate(both), "const");
  EXPECT_EQ(as_const, 7);
  arena.enqueue(both, group);
  arena.wait_for(group);
  EXPECT_EQ(as_const, 8);
  arena.enqueue(both);
  while (as_const != 9) std::this_thread::yield();
}

// A task that returns a task may be const too.
struct Next {
  tbb::task_group* group;
  std::atomic<int>* as_const;
  tbb::task_handle operator()() { return {}; }
  tbb::task_handle operator()() const { return group->defer(Both{as_const}); }
};

TEST(Functions, ThatReturnTasksAreCalledAsConst) {
  std::atomic<int> as_const{0};
  tbb::task_group group;
  group.run(Next{&group, &as_const});
  group.wait();
  EXPECT_EQ(as_const, 1);
}

TEST(Functions, MayBeCallableOnlyAsVariables) {
  int calls = 0;
  tbb::task_group group;
  group.run([calls, to = &calls]() mutable { *to = ++calls; });
  group.wait();
  EXPECT_EQ(calls, 1);
  tbb::task_arena arena(1);
  auto counts = [n = 0]() mutable { return ++n; };
  EXPECT_EQ(arena.execute(counts), 1);
  EXPECT_EQ(arena.execute(counts), 2);
}

// ---- ranges and bodies --------------------------------------------------------------------------

// Counts how it is split. Its length is a multiple of 3, so halves are no proportional parts.
class SplitRange {
 public:
  SplitRange(int begin, int end, std::atomic<int>& by_proportion, std::atomic<int>& in_halves)
      : begin_(begin), end_(end), by_proportion_(by_proportion), in_halves_(in_halves) {}
  SplitRange(SplitRange& r, tbb::split)
      : SplitRange(r, r.begin_ + (r.end_ - r.begin_) / 2, r.in_halves_) {}
  SplitRange(SplitRange& r, tbb::proportional_split& how)
      : SplitRange(r,
                   r.end_ - static_cast<int>(static_cast<std::size_t>(r.end_ - r.begin_) *
                                             how.right() / (how.left() + how.right())),
                   r.by_proportion_) {}
  bool empty() const { return begin_ == end_; }
  bool is_divisible() const { return end_ - begin_ > 1; }
  int size() const { return end_ - begin_; }

 private:
  SplitRange(SplitRange& r, int middle, std::atomic<int>& count)
      : SplitRange(middle, r.end_, r.by_proportion_, r.in_halves_) {
    r.end_ = middle;
    ++count;
  }
  int begin_;
  int end_;
  std::atomic<int>& by_proportion_;
  std::atomic<int>& in_halves_;
};

TEST(Ranges, AffinityPartitionerSplitsByProportion) {
  std::atomic<int> by_proportion{0}, in_halves{0}, sum{0};
  tbb::task_arena arena(3);
  arena.execute([&] {
    tbb::affinity_partitioner affinity;
    for (int round = 0; round < 3; ++round) {
      tbb::parallel_for(
          SplitRange(0, 3000, by_proportion, in_halves), [&](SplitRange& r) { sum += r.size(); },
          affinity);
    }
  });
  EXPECT_EQ(sum, 9000);
  EXPECT_GT(by_proportion, 0);
  EXPECT_EQ(in_halves, 0);
}

struct SplitBody {
  explicit SplitBody(std::atomic<int>& s) : splits(s) {}
  SplitBody(SplitBody& b, tbb::split) : splits(b.splits) { ++splits; }
  void operator()(const Range& r) { sum += static_cast<int>(r.size()); }
  void join(SplitBody& right) { sum += right.sum; }
  std::atomic<int>& splits;
  int sum = 0;
};

// The arena has slots for others, but no thread comes.
TEST(Bodies, AreNotSplitInOneThread) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena arena(4);
  arena.execute([] {
    std::atomic<int> splits{0};
    const auto reduce = [&](auto&& partitioner) {
      SplitBody body(splits);
      tbb::parallel_reduce(Range(0, 1000), body, partitioner);
      EXPECT_EQ(body.sum, 1000);
      EXPECT_EQ(splits.exchange(0), 0);
    };
    reduce(tbb::simple_partitioner());
    reduce(tbb::auto_partitioner());
    reduce(tbb::static_partitioner());
    tbb::affinity_partitioner affinity;
    for (int round = 0; round < 3; ++round) reduce(affinity);
  });
}

// ---- iterators ----------------------------------------------------------------------------------

// What only converts to bool.
struct Truth {
  bool value;
  operator bool() const { return value; }
  bool operator!() const = delete;
};

// An iterator that can be compared by == only.
template <typename Category>
class Iterator {
 public:
  using iterator_category = Category;
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using pointer = int*;
  using reference = int&;

  Iterator() = default;
  explicit Iterator(int* at) : at_(at) {}
  int& operator*() const { return *at_; }
  int* operator->() const { return at_; }
  int& operator[](std::ptrdiff_t n) const { return at_[n]; }
  Iterator& operator++() {
    ++at_;
    return *this;
  }
  Iterator operator++(int) { return Iterator(at_++); }
  Iterator& operator--() {
    --at_;
    return *this;
  }
  Iterator operator--(int) { return Iterator(at_--); }
  Iterator& operator+=(std::ptrdiff_t n) {
    at_ += n;
    return *this;
  }
  Iterator& operator-=(std::ptrdiff_t n) {
    at_ -= n;
    return *this;
  }
  friend Iterator operator+(Iterator it, std::ptrdiff_t n) { return it += n; }
  friend Iterator operator+(std::ptrdiff_t n, Iterator it) { return it += n; }
  friend Iterator operator-(Iterator it, std::ptrdiff_t n) { return it -= n; }
  friend std::ptrdiff_t operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
  friend Truth operator==(const Iterator& a, const Iterator& b) { return {a.at_ == b.at_}; }
#if __cplusplus < 202002L
  friend bool operator!=(const Iterator&, const Iterator&) = delete;
#endif

 private:
  int* at_ = nullptr;
};

template <typename Category>
class Iterators : public testing::Test {};
using Categories = testing::Types<std::input_iterator_tag, std::forward_iterator_tag,
                                  std::bidirectional_iterator_tag, std::random_access_iterator_tag>;
TYPED_TEST_SUITE(Iterators, Categories, );

TYPED_TEST(Iterators, NeedOnlyEquality) {
  std::vector<int> items(1000);
  for (int i = 0; i < 1000; ++i) items[static_cast<std::size_t>(i)] = i;
  const Iterator<TypeParam> first(items.data());
  const Iterator<TypeParam> last(items.data() + items.size());
  std::atomic<int> sum{0};
  tbb::parallel_for_each(first, last, [&](int i) { sum += i; });
  EXPECT_EQ(sum, 499500);
  tbb::parallel_for_each(first, last, [&](int i, tbb::feeder<int>& feeder) {
    sum += i;
    if (i == 999) feeder.add(1);
  });
  EXPECT_EQ(sum, 999001);
  tbb::parallel_for_each(last, last, [&](int) { ++sum; });
  EXPECT_EQ(sum, 999001);
}

}  // namespace
