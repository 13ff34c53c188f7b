// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of loops and reductions: ranges and partitioners of all kinds.
#pragma once

#include <tbb/partitioner.h>
#include <tbb/task_group.h>
#include <corbel/detail/loop.hpp>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "helped.hpp"

namespace test {

// Counts how often each number was seen.
class Marks {
 public:
  explicit Marks(std::size_t n) : times_(n) {}
  // Some calls take a while, so that other threads join in.
  void operator()(std::size_t i) {
    times_.at(i).fetch_add(1, std::memory_order_relaxed);  // relaxed: the loop's end orders it
    if (i % 256 == 5) work_a_little();
  }
  bool is_marked(std::size_t i) const { return times_.at(i) != 0; }
  // Returns the first number that was not seen exactly once, or the size if there is none.
  std::size_t first_wrong() const {
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (times_[i] != 1) return i;
    }
    return times_.size();
  }
  std::size_t size() const { return times_.size(); }

 private:
  std::vector<std::atomic<int>> times_;
};

// A range with only the required members: no default constructor, no assignment. It counts its
// objects. Split number `throw_at` throws, unless that is 0.
class StrictRange {
 public:
  struct Shared {
    Balance balance;
    std::atomic<int> splits{0};
    int throw_at = 0;
    std::atomic<bool> split_undivided{false};
  };

  StrictRange(Shared& shared, int begin, int end, int most)
      : shared_(shared), counted_(shared.balance), begin_(begin), end_(end), most_(most) {}
  StrictRange(StrictRange& whole, tbb::split)
      : shared_(whole.shared_),
        counted_(split_counted(whole)),
        begin_(whole.begin_ + (whole.end_ - whole.begin_) / 2),
        end_(std::exchange(whole.end_, begin_)),
        most_(whole.most_) {}
  StrictRange(const StrictRange&) = default;
  StrictRange& operator=(const StrictRange&) = delete;

  bool empty() const { return begin_ >= end_; }
  bool is_divisible() const { return end_ - begin_ > most_; }
  int begin() const { return begin_; }
  int end() const { return end_; }

 private:
  static Counted split_counted(const StrictRange& whole) {
    if (!whole.is_divisible()) whole.shared_.split_undivided = true;
    if (++whole.shared_.splits == whole.shared_.throw_at) throw std::length_error("split");
    return Counted(whole.shared_.balance);
  }

  Shared& shared_;
  Counted counted_;
  int begin_;
  int end_;
  const int most_;
};

// Calls f(partitioner) with one of each kind; several times with the affinity partitioner.
template <typename F>
void for_each_partitioner(const F& f) {
  f(tbb::simple_partitioner());
  f(tbb::auto_partitioner());
  f(tbb::static_partitioner());
  tbb::affinity_partitioner affinity;
  for (int i = 0; i < 3; ++i) f(affinity);
}

// Calls f(partitioner..., context...) with every combination.
template <typename F>
void for_each_tail(const F& f) {
  tbb::task_group_context context;
  tbb::affinity_partitioner affinity;
  f();
  f(tbb::simple_partitioner());
  f(tbb::auto_partitioner());
  f(tbb::static_partitioner());
  f(affinity);
  f(context);
  f(tbb::simple_partitioner(), context);
  f(tbb::auto_partitioner(), context);
  f(tbb::static_partitioner(), context);
  f(affinity, context);
}

}  // namespace test
