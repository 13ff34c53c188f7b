// SPDX-License-Identifier: Apache-2.0
// parallel_reduce and parallel_deterministic_reduce: results are joined in order, whichever threads
// compute them.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "loops.hpp"
#include "system.hpp"

namespace {

using test::for_each_partitioner;
using test::for_each_tail;
using test::StrictRange;
using Range = tbb::blocked_range<int>;

// The numbers of a range in the order in which they were joined: an operation that does not
// commute.
struct Row {
  std::list<int> numbers;
  test::Counted counted;
  int* left_used = nullptr;

  explicit Row(test::Balance& balance) : counted(balance) {}
  Row(Row& other, tbb::split) : counted(other.counted) {}
  Row(const Row&) = delete;
  template <typename R>
  void operator()(const R& r) {
    for (int i = begin_of(r); i != end_of(r); ++i) {
      numbers.push_back(i);
      if (i % 64 == 5) test::work_a_little();
    }
  }
  void join(Row& right) { numbers.splice(numbers.end(), right.numbers); }

  template <typename R>
  static int begin_of(const R& r) {
    return r.begin();
  }
  template <typename R>
  static int end_of(const R& r) {
    return r.end();
  }
  // Whether the row is 0 to n - 1.
  bool is_complete(int n) const {
    int next = 0;
    for (const int i : numbers) {
      if (i != next++) return false;
    }
    return next == n;
  }
};

template <typename MakeRange>
void check_rows(int n, const MakeRange& range) {
  for_each_partitioner([&](auto&& partitioner) {
    test::Balance balance;
    {
      Row row(balance);
      tbb::parallel_reduce(range(), row, partitioner);
      EXPECT_TRUE(row.is_complete(n)) << n;
      EXPECT_EQ(balance.alive, 1);
    }
    EXPECT_EQ(balance.alive, 0);
  });
  test::Balance balance;
  Row row(balance);
  tbb::parallel_deterministic_reduce(range(), row, tbb::simple_partitioner());
  EXPECT_TRUE(row.is_complete(n)) << n;
  Row fixed(balance);
  tbb::parallel_deterministic_reduce(range(), fixed, tbb::static_partitioner());
  EXPECT_TRUE(fixed.is_complete(n)) << n;
}

TEST(ParallelReduce, JoinsInOrder) {
  for (const int n : {0, 1, 2, 3, 6, 7, 8, 100, 1000, 4097}) {
    for (const int grain : {1, 3, 7, 100}) {
      check_rows(n, [&] { return Range(0, n, std::size_t(grain)); });
      StrictRange::Shared shared;
      check_rows(n, [&] { return StrictRange(shared, 0, n, grain); });
      EXPECT_EQ(shared.balance.alive, 0);
    }
  }
}

template <typename F>
void for_each_deterministic_tail(const F& f) {
  tbb::task_group_context context;
  f();
  f(tbb::simple_partitioner());
  f(tbb::static_partitioner());
  f(context);
  f(tbb::simple_partitioner(), context);
  f(tbb::static_partitioner(), context);
}

std::string digits(const Range& r, std::string before) {
  for (int i = r.begin(); i != r.end(); ++i) before += std::to_string(i % 10);
  return before;
}

TEST(ParallelReduce, Overloads) {
  const Range range(0, 500, 3);
  const std::string expected = digits(range, "");
  const auto join = [](const std::string& a, const std::string& b) { return a + b; };
  int calls = 0;
  for_each_tail([&](auto&&... tail) {
    test::Balance balance;
    Row row(balance);
    tbb::parallel_reduce(range, row, tail...);
    EXPECT_TRUE(row.is_complete(500));
    EXPECT_EQ(tbb::parallel_reduce(range, std::string(), digits, join, tail...), expected);
    ++calls;
  });
  for_each_deterministic_tail([&](auto&&... tail) {
    test::Balance balance;
    Row row(balance);
    tbb::parallel_deterministic_reduce(range, row, tail...);
    EXPECT_TRUE(row.is_complete(500));
    EXPECT_EQ(tbb::parallel_deterministic_reduce(range, std::string(), digits, join, tail...),
              expected);
    ++calls;
  });
  EXPECT_EQ(calls, 16);
}

TEST(ParallelReduce, OfNothingIsTheIdentity) {
  const auto fail = [](const Range&, int) -> int { throw 1; };
  const auto join = [](int a, int) { return a; };
  EXPECT_EQ(tbb::parallel_reduce(Range(0, 0), 42, fail, join), 42);
  EXPECT_EQ(tbb::parallel_deterministic_reduce(Range(0, 0), 42, fail, join), 42);
}

// ---- values -------------------------------------------------------------------------------------

// Only the identity is copied.
struct Sum {
  static std::atomic<int> copies;
  long value = 0;
  Sum() = default;
  Sum(const Sum& other) : value(other.value) { ++copies; }
  Sum(Sum&& other) noexcept : value(std::exchange(other.value, -1'000'000)) {}
  Sum& operator=(Sum&& other) noexcept {
    value = std::exchange(other.value, -1'000'000);
    return *this;
  }
  Sum added(const Sum& other) const {
    Sum sum;
    sum.value = value + other.value;
    return sum;
  }
};
std::atomic<int> Sum::copies{0};

TEST(ParallelReduce, ValuesAreMoved) {
  int bodies = 0;
  for_each_tail([&](auto&&... tail) {
    Sum::copies = 0;
    std::atomic<int> joins{0};
    const Sum sum = tbb::parallel_reduce(
        Range(0, 1000), Sum(),
        [](const Range& r, Sum&& s) {
          for (int i = r.begin(); i != r.end(); ++i) s.value += i;
          test::work_a_little();
          return std::move(s);
        },
        [&](Sum&& a, Sum&& b) {
          ++joins;
          a.value += b.value;
          return std::move(a);
        },
        tail...);
    EXPECT_EQ(sum.value, 499'500);
    EXPECT_EQ(Sum::copies, joins + 1);
    ++bodies;
  });
  EXPECT_EQ(bodies, 10);
}

TEST(ParallelReduce, MemberFunctions) {
  const auto sum = tbb::parallel_reduce(
      Range(0, 100), Sum(),
      [](const Range& r, Sum&& s) {
        s.value += long(r.size());
        return std::move(s);
      },
      &Sum::added);
  EXPECT_EQ(sum.value, 100);
}

// ---- determinism --------------------------------------------------------------------------------

// A sum whose rounding depends on the order of the additions.
template <typename Partitioner>
double rounded_sum(const Partitioner& partitioner, int grain) {
  return tbb::parallel_deterministic_reduce(
      Range(0, 100'000, std::size_t(grain)), 0.0,
      [](const Range& r, double sum) {
        for (int i = r.begin(); i != r.end(); ++i) sum += 1.0 / (1.0 + i);
        if (r.begin() % 4096 < 64) test::work_a_little();
        return sum;
      },
      [](double a, double b) { return a + b; }, partitioner);
}

std::string all_sums() {
  char text[200];
  std::snprintf(text, sizeof text, "%a %a %a", rounded_sum(tbb::simple_partitioner(), 64),
                rounded_sum(tbb::simple_partitioner(), 1000),
                rounded_sum(tbb::static_partitioner(), 1));
  return text;
}

TEST(ParallelReduce, DeterministicAtAnyWidth) {
  const std::string expected = test::output_of_this_program("--sums");
  EXPECT_GT(expected.size(), 10u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(all_sums(), expected);
  // The test is meaningful only if the order matters.
  EXPECT_NE(rounded_sum(tbb::simple_partitioner(), 64),
            rounded_sum(tbb::simple_partitioner(), 1000));
}

// ---- exceptions and cancellation ----------------------------------------------------------------

struct Failing {
  enum Where { kBody, kSplit, kJoin };
  Where where;
  test::Counted counted;
  std::atomic<int>* happened;

  Failing(Where w, test::Balance& balance, std::atomic<int>& h)
      : where(w), counted(balance), happened(&h) {}
  Failing(Failing& other, tbb::split)
      : where(other.where), counted(other.counted), happened(other.happened) {
    fail(kSplit);
  }
  Failing(const Failing&) = delete;
  void operator()(const Range& r) {
    test::work_a_little();
    if (r.begin() <= 50 && 50 < r.end()) fail(kBody);
  }
  void join(Failing&) { fail(kJoin); }
  void fail(Where here) const {
    if (where != here) return;
    ++*happened;
    throw std::range_error("failing");
  }
};

TEST(ParallelReduce, Exceptions) {
  for (const Failing::Where where : {Failing::kBody, Failing::kSplit, Failing::kJoin}) {
    const auto check = [&](const auto& reduce) {
      int thrown = 0;
      // A split, or a join, takes a worker that gets a processor in time.
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      const auto is_missing = [&] {
        return thrown == 0 && test::has_worker() && std::chrono::steady_clock::now() < end;
      };
      for (int i = 0; i < 30 || is_missing(); ++i) {
        test::Balance balance;
        std::atomic<int> happened{0};
        {
          Failing body(where, balance, happened);
          try {
            reduce(body);
            EXPECT_EQ(happened, 0);
          } catch (const std::range_error&) {
            EXPECT_GT(happened, 0);
            ++thrown;
          }
        }
        EXPECT_EQ(balance.alive, 0);
      }
      EXPECT_TRUE(thrown > 0 || (where != Failing::kBody && !test::has_worker())) << where;
    };
    check([](Failing& b) { tbb::parallel_reduce(Range(0, 100), b, tbb::simple_partitioner()); });
    check([](Failing& b) { tbb::parallel_reduce(Range(0, 100), b, tbb::static_partitioner()); });
    check([](Failing& b) { tbb::parallel_deterministic_reduce(Range(0, 100), b); });
  }
}

TEST(ParallelReduce, Cancelled) {
  for_each_deterministic_tail([](auto&&... tail) {
    if constexpr (sizeof...(tail) == 0) {
      tbb::task_group_context context;
      std::atomic<int> calls{0};
      const auto func = [&](const Range& r, int sum) {
        ++calls;
        context.cancel_group_execution();
        return sum + int(r.size());
      };
      const auto join = [](int a, int b) { return a + b; };
      tbb::parallel_reduce(Range(0, 10'000), 0, func, join, tbb::simple_partitioner(), context);
      EXPECT_LE(calls, int(test::width()) + 1);
      context.reset();
      calls = 0;
      tbb::parallel_deterministic_reduce(Range(0, 10'000), 0, func, join, context);
      EXPECT_LE(calls, int(test::width()) + 1);
    }
  });
}

TEST(ParallelReduce, Nested) {
  const long sum = tbb::parallel_reduce(
      Range(0, 100), 0L,
      [](const Range& outer, long before) {
        for (int i = outer.begin(); i != outer.end(); ++i) {
          before += tbb::parallel_reduce(
              Range(0, i), 0L,
              [](const Range& r, long s) {
                for (int k = r.begin(); k != r.end(); ++k) s += k;
                return s;
              },
              [](long a, long b) { return a + b; }, tbb::simple_partitioner());
        }
        return before;
      },
      [](long a, long b) { return a + b; });
  long expected = 0;
  for (long i = 0; i < 100; ++i) expected += i * (i - 1) / 2;
  EXPECT_EQ(sum, expected);
}

// A body that was split off and never called would join a value that the program never made.
TEST(ParallelReduce, EveryJoinedBodyWasCalled) {
  struct Body {
    std::atomic<int>* wrong;
    int calls = 0;

    explicit Body(std::atomic<int>* count) : wrong(count) {}
    Body(Body& left, tbb::split) : wrong(left.wrong) {}
    void operator()(const tbb::blocked_range<int>& range) {
      ++calls;
      if (range.begin() == 0) test::work_a_little();
    }
    void join(const Body& right) {
      if (right.calls == 0) ++*wrong;
    }
  };
  std::atomic<int> wrong{0};
  for (int i = 0; i < 3000; ++i) {
    Body simple(&wrong), automatic(&wrong);
    tbb::parallel_reduce(tbb::blocked_range<int>(0, 2 + i % 7), simple, tbb::simple_partitioner());
    tbb::parallel_reduce(tbb::blocked_range<int>(0, 2 + i % 7), automatic, tbb::auto_partitioner());
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--sums") == 0) {
    test::keep_one_processor();
    std::fputs(all_sums().c_str(), stdout);
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
