// SPDX-License-Identifier: Apache-2.0
// A program for trace.py: each algorithm with bodies whose times the program measures itself.
// Usage: traced_calls ALGORITHM THREADS. Prints the work of the bodies, their span (at least, and
// at most) and the time that everything took, in ms. Without arguments it prints the algorithms.
#include <corbel/blocked_range2d.hpp>
#include <corbel/global_control.hpp>
#include <corbel/parallel_for.hpp>
#include <corbel/parallel_for_each.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/parallel_pipeline.hpp>
#include <corbel/parallel_reduce.hpp>
#include <corbel/parallel_scan.hpp>
#include <corbel/parallel_sort.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_group.hpp>

#include <tbb/task.h>
#include <tbb/task_scheduler_init.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <forward_list>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;
using Range = corbel::blocked_range<int>;

// What the trace should report.
std::mutex lock;
double work = 0;
double span = 0;
double apart = 0;  // the time between the begins of calls that could begin at the same time

// Keeps a processor busy for a time that depends on `i`. Returns how long it took.
double run(int i) {
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::microseconds(1500 + 250 * (i % 4));
  while (Clock::now() < end) {
  }
  const double took = Milliseconds(Clock::now() - begin).count();
  const std::lock_guard<std::mutex> guard(lock);
  work += took;
  return took;
}

// Runs a body that begins `at` ms after the begin of the call, on as many processors as it needs.
// Returns when it ends.
double run_at(double at, int i) {
  const double end = at + run(i);
  const std::lock_guard<std::mutex> guard(lock);
  span = std::max(span, end);
  return end;
}

// One call of a loop's body.
void run_range(const Range& r) {
  double length = 0;
  for (int i = r.begin(); i != r.end(); ++i) length += run(i);
  const std::lock_guard<std::mutex> guard(lock);
  span = std::max(span, length);
}

constexpr int kBodies = 16;

struct Sum {
  int value = 0;
  Sum() = default;
  Sum(Sum&, corbel::split) {}
  void operator()(const Range& r) {
    run_range(r);
    value += r.end() - r.begin();
  }
  void join(const Sum& right) { value += right.value; }
};

// ---- forks

double tree(double at, int depth) {
  if (depth == 0) return run_at(at, 0);
  const double begin = run_at(at, depth);
  double left = 0, right = 0;
  corbel::parallel_invoke([&] { left = tree(begin, depth - 1); },
                          [&] { right = tree(begin, depth - 1); });
  return run_at(std::max(left, right), depth);
}

// ---- task groups

double group_tree(double at, int depth) {
  double end = run_at(at, depth);
  if (depth == 0) return end;
  corbel::task_group group;
  double ends[3] = {};
  for (double& e : ends) group.run([&, end] { e = group_tree(end, depth - 1); });
  group.wait();
  return run_at(*std::max_element(ends, ends + 3), depth);
}

// Two predecessors, of which the longer one decides, and their successor.
void ordered_tasks() {
  corbel::task_group group;
  double first = 0, second = 0;
  corbel::task_handle a = group.defer([&] { first = run_at(run_at(0, 3), 3); });
  corbel::task_handle b = group.defer([&] { second = run_at(0, 0); });
  corbel::task_handle c = group.defer([&] { run_at(std::max(first, second), 1); });
  corbel::task_group::set_task_order(a, c);
  corbel::task_group::set_task_order(b, c);
  group.run(std::move(c));
  group.run(std::move(a));
  group.run(std::move(b));
  group.wait();
}

// ---- items that add items

struct Item {
  double at;
  int depth;
};

void feed(int depth) {
  const std::vector<Item> first(1, Item{0, depth});
  corbel::parallel_for_each(first.begin(), first.end(),
                            [](const Item& item, corbel::feeder<Item>& feeder) {
                              const double end = run_at(item.at, item.depth);
                              if (item.depth == 0) return;
                              feeder.add(Item{end, item.depth - 1});
                              feeder.add(Item{end, item.depth - 1});
                            });
}

// ---- pipelines

void pipeline(std::size_t tokens, corbel::filter_mode last) {
  struct Times {
    double read, middle, last;
  };
  std::vector<Times> took(kBodies);
  std::vector<int> order;  // in which items enter the last filter
  int next = 0;
  corbel::parallel_pipeline(
      tokens, corbel::make_filter<void, int>(corbel::filter_mode::serial_in_order,
                                             [&](corbel::flow_control& control) {
                                               if (next == kBodies) {
                                                 control.stop();
                                                 return 0;
                                               }
                                               took[std::size_t(next)].read = run(0);
                                               return next++;
                                             }) &
                  corbel::make_filter<int, int>(corbel::filter_mode::parallel,
                                                [&](int i) {
                                                  took[std::size_t(i)].middle = run(i);
                                                  return i;
                                                }) &
                  corbel::make_filter<int, void>(last, [&](int i) {
                    order.push_back(i);
                    took[std::size_t(i)].last = run(1);
                  }));
  double read = 0, left = 0;
  std::vector<double> arrived;
  std::vector<double> gone;
  for (std::size_t i = 0; i < took.size(); ++i) {
    if (i >= tokens) read = std::max(read, gone[i - tokens]);
    read += took[i].read;
    arrived.push_back(read + took[i].middle);
    // Holds for items that enter the last filter in the order in which they were read.
    left = std::max(left, arrived.back()) + took[i].last;
    gone.push_back(left);
  }
  span = left;
}

// ---- classic tasks

class ClassicLeaf : public tbb::task {
 public:
  ClassicLeaf(double at, int i, double* end) : at_(at), i_(i), end_(end) {}
  task* execute() override {
    *end_ = run_at(at_, i_);
    return nullptr;
  }

 private:
  const double at_;
  const int i_;
  double* const end_;
};

class ClassicJoin : public tbb::task {
 public:
  double ends[2] = {};
  task* execute() override {
    run_at(std::max(ends[0], ends[1]), 1);
    return nullptr;
  }
};

// Two children and a continuation.
class ClassicFork : public tbb::task {
 public:
  task* execute() override {
    const double end = run_at(0, 1);
    ClassicJoin& join = *new (allocate_continuation()) ClassicJoin;
    join.set_ref_count(2);
    spawn(*new (join.allocate_child()) ClassicLeaf(end, 3, &join.ends[0]));
    spawn(*new (join.allocate_child()) ClassicLeaf(end, 0, &join.ends[1]));
    return nullptr;
  }
};

void classic_wait() {
  double ends[4] = {};
  tbb::empty_task& root = *new (tbb::task::allocate_root()) tbb::empty_task;
  root.set_ref_count(5);
  for (int i = 0; i < 4; ++i) {
    root.spawn(*new (root.allocate_child()) ClassicLeaf(0, i, &ends[i]));
  }
  root.wait_for_all();
  root.destroy(root);
}

// ---- other

struct ScanBody {
  int sum = 0;
  ScanBody() = default;
  ScanBody(ScanBody&, corbel::split) {}
  template <typename Tag>
  void operator()(const Range& r, Tag) {
    for (int i = r.begin(); i != r.end(); ++i) span += run(i);
  }
  void reverse_join(ScanBody&) {}
  void assign(ScanBody&) {}
};

void enqueued() {
  std::atomic<int> left{4};
  const auto begin = Clock::now();
  for (int i = 0; i < 4; ++i) {
    corbel::this_task_arena::enqueue([&left, i] {
      run_at(0, i);
      --left;
    });
  }
  apart = Milliseconds(Clock::now() - begin).count();
  while (left != 0) std::this_thread::yield();
}

// A thread runs a task, and another one waits for it.
void waits_elsewhere() {
  corbel::task_group group;
  std::thread([&] { group.run([] { run_at(0, 1); }); }).join();
  group.wait();
}

// Two threads call at the same time.
void two_calls() {
  std::atomic<int> come{0};
  const auto call = [&] {
    ++come;
    while (come != 2) std::this_thread::yield();
    corbel::parallel_for(0, 4, [](int i) { run_at(0, i); }, corbel::simple_partitioner());
  };
  std::thread other(call);
  call();
  other.join();
  apart = span;
}

std::map<std::string, std::function<void()>> algorithms() {
  std::map<std::string, std::function<void()>> all;
  all["for_simple"] = [] {
    corbel::parallel_for(Range(0, kBodies), run_range, corbel::simple_partitioner());
  };
  all["for_auto"] = [] { corbel::parallel_for(Range(0, kBodies), run_range); };
  all["for_static"] = [] {
    corbel::parallel_for(Range(0, kBodies), run_range, corbel::static_partitioner());
  };
  all["for_affinity"] = [] {
    corbel::affinity_partitioner affinity;
    corbel::parallel_for(Range(0, kBodies), run_range, affinity);
  };
  all["for_index"] = [] {
    corbel::parallel_for(0, kBodies, [](int i) { run_at(0, i); }, corbel::simple_partitioner());
  };
  all["for_2d"] = [] {
    corbel::parallel_for(
        corbel::blocked_range2d<int>(0, 4, 0, 4),
        [](const corbel::blocked_range2d<int>& r) {
          for (int i = r.rows().begin(); i != r.rows().end(); ++i) run_range(Range(r.cols()));
        },
        corbel::simple_partitioner());
  };
  all["for_nested"] = [] {
    // Each body runs before and after its inner loop.
    corbel::parallel_for(
        0, 4,
        [](int i) {
          const double at = run_at(0, i);
          double longest = 0;
          std::mutex longest_lock;
          corbel::parallel_for(
              0, 4,
              [&](int j) {
                const double end = run_at(at, j);
                const std::lock_guard<std::mutex> guard(longest_lock);
                longest = std::max(longest, end);
              },
              corbel::simple_partitioner());
          run_at(longest, i);
        },
        corbel::simple_partitioner());
  };
  all["for_one_context"] = [] {
    // The inner calls use the context of the outer one.
    corbel::task_group_context context;
    corbel::parallel_for(
        0, 4,
        [&](int i) {
          const double at = run_at(0, i);
          corbel::parallel_invoke([at] { run_at(at, 1); }, [at] { run_at(at, 0); }, context);
        },
        corbel::simple_partitioner(), context);
  };
  all["reduce"] = [] {
    Sum sum;
    corbel::parallel_reduce(Range(0, kBodies), sum);
    if (sum.value != kBodies) std::abort();
  };
  all["reduce_simple"] = [] {
    Sum sum;
    corbel::parallel_reduce(Range(0, kBodies), sum, corbel::simple_partitioner());
    if (sum.value != kBodies) std::abort();
  };
  all["deterministic_reduce"] = [] {
    Sum sum;
    corbel::parallel_deterministic_reduce(Range(0, kBodies), sum);
  };
  all["for_each"] = [] {
    std::vector<int> items(kBodies);
    std::iota(items.begin(), items.end(), 0);
    corbel::parallel_for_each(items.begin(), items.end(), [](int i) { run_at(0, i); });
  };
  all["for_each_forward"] = [] {
    const std::forward_list<int> items{0, 1, 2, 3, 4, 5, 6, 7, 8};
    corbel::parallel_for_each(items.begin(), items.end(), [](int i) { run_at(0, i); });
  };
  all["for_each_input"] = [] {
    std::istringstream items("0 1 2 3 4 5 6 7 8");
    corbel::parallel_for_each(std::istream_iterator<int>(items), std::istream_iterator<int>(),
                              [](int i) { run_at(0, i); });
  };
  all["feeder"] = [] { feed(3); };
  all["invoke"] = [] { corbel::parallel_invoke([] { tree(0, 2); }, [] { tree(0, 2); }); };
  all["invoke_many"] = [] {
    corbel::parallel_invoke([] { run_at(0, 0); }, [] { run_at(0, 1); }, [] { run_at(0, 2); },
                            [] { run_at(0, 3); });
  };
  all["task_group"] = [] {
    corbel::task_group group;
    for (int i = 0; i < kBodies; ++i) group.run([i] { run_at(0, i); });
    group.wait();
  };
  all["task_group_tree"] = [] {
    corbel::task_group group;
    group.run_and_wait([] { group_tree(0, 2); });
  };
  all["task_group_order"] = ordered_tasks;
  all["pipeline"] = [] { pipeline(kBodies, corbel::filter_mode::serial_in_order); };
  all["pipeline_tokens"] = [] { pipeline(2, corbel::filter_mode::serial_in_order); };
  all["pipeline_one_token"] = [] { pipeline(1, corbel::filter_mode::serial_out_of_order); };
  all["classic_wait"] = classic_wait;
  all["classic_continuation"] = [] {
    tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) ClassicFork);
  };
  all["scan"] = [] {
    ScanBody body;
    corbel::parallel_scan(Range(0, 8), body);
  };
  all["enqueue"] = enqueued;
  all["two_calls"] = two_calls;
  all["waits_elsewhere"] = waits_elsewhere;
  all["fork_of_two"] = [] {
    std::atomic<int> come{0};
    const auto body = [&] {
      const auto begin = Clock::now();
      ++come;
      while (come != 2) std::this_thread::yield();
      const double took = Milliseconds(Clock::now() - begin).count();
      const double end = took + run(0);
      const std::lock_guard<std::mutex> guard(lock);
      work += took;
      span = std::max(span, end);
    };
    corbel::parallel_invoke(body, body);
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const auto all = algorithms();
  if (argc == 1) {
    for (const auto& a : all) std::puts(a.first.c_str());
    return 0;
  }
  // Ends the workers, and so all that they record, before the trace is written.
  corbel::task_scheduler_handle scheduler{corbel::attach()};
  const int count = std::atoi(argv[2]);
  const corbel::global_control threads(corbel::global_control::max_allowed_parallelism, count);
  const tbb::task_scheduler_init width(count);
  const auto begin = Clock::now();
  all.at(argv[1])();
  corbel::finalize(scheduler, std::nothrow);
  const double took = Milliseconds(Clock::now() - begin).count();
  std::printf("%.3f %.3f %.3f %.3f\n", work, span, span + apart, took);
  return 0;
}
