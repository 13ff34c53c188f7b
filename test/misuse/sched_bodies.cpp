// SPDX-License-Identifier: Apache-2.0
// Exceptions in every function that an algorithm takes. Each call is made with its k-th use of the
// program's code failing, for k from 1 until the call succeeds.
#include <corbel/blocked_range.hpp>
#include <corbel/enumerable_thread_specific.hpp>
#include <corbel/parallel_for.hpp>
#include <corbel/parallel_for_each.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/parallel_pipeline.hpp>
#include <corbel/parallel_reduce.hpp>
#include <corbel/parallel_scan.hpp>
#include <corbel/parallel_sort.hpp>
#include <corbel/partitioner.hpp>

#include <algorithm>
#include <vector>

#include "sched_misuse.hpp"

namespace misuse {
namespace {

// ---- what fails

std::atomic<int> uses_left{0};
std::atomic<int> failures{0};
bool all_later_fail = false;  // else only that use fails

// One use of the program's code.
void use() {
  const int left = --uses_left;
  if (left == 0 || (left < 0 && all_later_fail)) {
    ++failures;
    throw Failure();
  }
}

// A function object that is copied and called.
struct Uses {
  Object object;
  Uses() = default;
  Uses(const Uses& other) : object(other.object) { use(); }
  Uses& operator=(const Uses&) = default;
};

// Each failure reaches the caller once, and no object is left over. An exception is lost only if
// another one is thrown.
template <typename F>
void fail_at_each_use(const F& call) {
  int calls = 0;
  for (const bool all : {false, true}) {
    all_later_fail = all;
    for (int k = 1;; k += 1 + k / 16) {
      const std::int64_t alive = balance.alive;
      uses_left = k;
      failures = 0;
      int caught = 0;
      try {
        call();
      } catch (const Failure&) {
        ++caught;
      }
      ++calls;
      expect(balance.alive == alive, "no object is left over");
      expect(caught == (failures > 0 ? 1 : 0), "the exception reaches the caller once");
      expect(caught == 1 || uses_left >= 0, "a call without failures makes all uses");
      if (caught == 0) break;
    }
    uses_left = 1 << 30;
  }
  expect(calls > 4, "the call has uses that can fail");
  say("each came out");
}

// ---- loops

struct Range {
  Object object;
  int first, last;
  Range(int from, int to) : first(from), last(to) {}
  Range(const Range& other) : object(other.object), first(other.first), last(other.last) { use(); }
  Range(Range& other, corbel::split) : first((other.first + other.last) / 2), last(other.last) {
    use();
    other.last = first;
  }
  bool empty() const { return first >= last; }
  bool is_divisible() const { return last - first > 1; }
};

struct Body : Uses {
  void operator()(const Range& range) const {
    use();
    for (int i = range.first; i < range.last; ++i) test::work_a_little();
  }
};

constexpr int kLength = 40;

template <typename Partitioner>
void loop() {
  fail_at_each_use([] {
    Partitioner partitioner;
    Body body;
    corbel::parallel_for(Range(0, kLength), body, partitioner);
  });
}

void numbers() {
  fail_at_each_use([] { corbel::parallel_for(0, 100, 3, [](int) { use(); }); });
}

struct Sum : Uses {
  long sum = 0;
  Sum() = default;
  Sum(Sum&, corbel::split) { use(); }
  void operator()(const Range& range) {
    use();
    for (int i = range.first; i < range.last; ++i) sum += i;
    test::work_a_little();
  }
  void join(Sum& other) {
    use();
    sum += other.sum;
  }
  // for parallel_scan
  template <typename Tag>
  void operator()(const Range& range, Tag) {
    (*this)(range);
  }
  void reverse_join(Sum& other) { join(other); }
  void assign(Sum& other) {
    use();
    sum = other.sum;
  }
};

template <typename Partitioner>
void reduce() {
  fail_at_each_use([] {
    Partitioner partitioner;
    Sum body;
    corbel::parallel_reduce(Range(0, kLength), body, partitioner);
    expect(body.sum == kLength * (kLength - 1) / 2, "the sum");
  });
}

template <typename Reduce>
void reduce_functions(const Reduce& call) {
  struct Value : Uses {
    long value;
    explicit Value(long v) : value(v) {}
  };
  fail_at_each_use([&] {
    const Value result = call(
        Range(0, kLength), Value(0),
        [](const Range& range, Value so_far) {
          use();
          for (int i = range.first; i < range.last; ++i) so_far.value += i;
          return so_far;
        },
        [](const Value& a, const Value& b) {
          use();
          return Value(a.value + b.value);
        });
    expect(result.value == kLength * (kLength - 1) / 2, "the sum");
  });
}

void lambda_reduce() {
  reduce_functions([](const auto&... arguments) { return corbel::parallel_reduce(arguments...); });
}

void deterministic_reduce() {
  reduce_functions(
      [](const auto&... arguments) { return corbel::parallel_deterministic_reduce(arguments...); });
}

void scan() {
  fail_at_each_use([] {
    Sum body;
    corbel::parallel_scan(Range(0, kLength), body, corbel::simple_partitioner());
  });
}

// ---- sequences

struct Value : Object {
  int value = 0;
  Value() = default;
  explicit Value(int v) : value(v) {}
  Value(const Value&) = default;
  Value(Value&& other) : Object(other), value(other.value) { use(); }
  Value& operator=(Value&& other) {
    use();
    value = other.value;
    return *this;
  }
};

template <typename Compare>
void sort_with(const Compare& compare, bool all_there) {
  fail_at_each_use([&] {
    std::vector<int> numbers(3000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = int(i * 7919 % 3001);
    std::vector<int> sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    try {
      corbel::parallel_sort(numbers.begin(), numbers.end(), compare);
      expect(numbers == sorted, "the numbers are sorted");
    } catch (const Failure&) {
      if (all_there) {
        std::sort(numbers.begin(), numbers.end());
        expect(numbers == sorted, "no number is lost");
      }
      throw;
    }
  });
}

void comparator() {
  sort_with(
      [](int a, int b) {
        use();
        return a < b;
      },
      true);
}

void comparator_copy() {
  struct Less : Uses {
    bool operator()(int a, int b) const { return a < b; }
  };
  const std::int64_t alive = balance.alive;
  uses_left = 1;
  try {
    std::vector<int> numbers(5000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = int(i * 7919 % 5003);
    Less less;
    corbel::parallel_sort(numbers.begin(), numbers.end(), less);
  } catch (const Failure&) {
  }
  uses_left = 1 << 30;
  expect(balance.alive == alive, "no object is left over");
  say("no matter");
}

void moves_of_a_sort() {
  fail_at_each_use([] {
    uses_left += 1 << 20;
    std::vector<Value> values;
    values.reserve(2000);
    for (int i = 0; i < 2000; ++i) values.emplace_back(i * 7919 % 2003);
    uses_left -= 1 << 20;
    corbel::parallel_sort(values.begin(), values.end(),
                          [](const Value& a, const Value& b) { return a.value < b.value; });
  });
}

void for_each() {
  fail_at_each_use([] {
    std::vector<int> items(50);
    corbel::parallel_for_each(items, [](int&) {
      use();
      test::work_a_little();
    });
  });
}

struct Item : Uses {
  int depth = 0;
};

void feeder() {
  fail_at_each_use([] {
    std::vector<Item> items(1);
    items[0].depth = 5;
    corbel::parallel_for_each(items, [](const Item& item, corbel::feeder<Item>& more) {
      use();
      if (item.depth == 0) return;
      Item next;
      next.depth = item.depth - 1;
      more.add(next);
      more.add(next);
    });
  });
}

void invoke() {
  fail_at_each_use([] {
    const auto leaf = [] {
      const Object object;
      use();
      test::work_a_little();
    };
    const auto branch = [&] { corbel::parallel_invoke(leaf, leaf, leaf); };
    corbel::parallel_invoke(branch, branch);
  });
}

// ---- pipelines

template <corbel::filter_mode Mode>
void pipeline() {
  fail_at_each_use([] {
    int number = 0;
    std::atomic<int> through{0};
    corbel::parallel_pipeline(
        4,
        corbel::make_filter<void, Item>(corbel::filter_mode::serial_in_order,
                                        [&](corbel::flow_control& control) {
                                          use();
                                          if (++number > 30) control.stop();
                                          return Item();
                                        }) &
            corbel::make_filter<Item, Item>(Mode,
                                            [](const Item& item) {
                                              use();
                                              return item;
                                            }) &
            corbel::make_filter<Item, void>(corbel::filter_mode::serial_in_order, [&](const Item&) {
              use();
              ++through;
            }));
    expect(through == 30, "all items have passed");
  });
}

// ---- thread-local values

void initialiser() {
  fail_at_each_use([] {
    corbel::enumerable_thread_specific<Object> values([] {
      use();
      return Object();
    });
    std::size_t there = 0;
    try {
      values.local();
      ++there;
    } catch (...) {
      expect(values.empty(), "a value whose construction failed is not stored");
      throw;
    }
    expect(values.size() == there, "a constructed value is stored");
    corbel::parallel_for(0, 20, [&](int) { values.local(); });
    use();
    use();
    use();
    use();
  });
}

// ---- invalid loops

void step_of_zero() {
  int calls = 0;
  for (const int step : {0, -1, -1000}) {
    outcome([&] { corbel::parallel_for(0, 10, step, [&](int) { ++calls; }); });
  }
  expect(calls == 0, "no call");
}

void grainsize_of_zero() {
  corbel::parallel_for(corbel::blocked_range<int>(0, 10, 0),
                       [](const corbel::blocked_range<int>&) {});
}

void range_that_ends_before() {
  int calls = 0;
  corbel::parallel_for(10, 0, [&](int) { ++calls; });
  corbel::parallel_for(corbel::blocked_range<int>(10, 0),
                       [&](const corbel::blocked_range<int>&) { ++calls; });
  say("%d calls", calls);
}

void pipeline_of_nothing() { corbel::parallel_pipeline(4, corbel::filter<void, void>()); }

void pipeline_without_tokens() {
  corbel::parallel_pipeline(
      0, corbel::make_filter<void, void>(corbel::filter_mode::parallel,
                                         [](corbel::flow_control& control) { control.stop(); }));
}

}  // namespace

extern const Case body_cases[];
const Case body_cases[] = {
    {"for-auto", loop<corbel::auto_partitioner>},
    {"for-simple", loop<corbel::simple_partitioner>},
    {"for-static", loop<corbel::static_partitioner>},
    {"for-affinity", loop<corbel::affinity_partitioner>},
    {"for-numbers", numbers},
    {"reduce-auto", reduce<corbel::auto_partitioner>},
    {"reduce-simple", reduce<corbel::simple_partitioner>},
    {"reduce-static", reduce<corbel::static_partitioner>},
    {"reduce-affinity", reduce<corbel::affinity_partitioner>},
    {"reduce-functions", lambda_reduce},
    {"reduce-deterministic", deterministic_reduce},
    {"scan", scan},
    {"sort-comparator", comparator},
    {"sort-comparator-copy", comparator_copy},
    {"sort-moves", moves_of_a_sort},
    {"for-each", for_each},
    {"for-each-feeder", feeder},
    {"invoke", invoke},
    {"pipeline-parallel", pipeline<corbel::filter_mode::parallel>},
    {"pipeline-in-order", pipeline<corbel::filter_mode::serial_in_order>},
    {"pipeline-out-of-order", pipeline<corbel::filter_mode::serial_out_of_order>},
    {"thread-specific-initialiser", initialiser},
    {"for-step-of-zero", step_of_zero},
    {"for-grainsize-of-zero", grainsize_of_zero},
    {"for-range-that-ends-before", range_that_ends_before},
    {"pipeline-of-nothing", pipeline_of_nothing},
    {"pipeline-without-tokens", pipeline_without_tokens},
    {nullptr, nullptr}};

}  // namespace misuse
