// SPDX-License-Identifier: Apache-2.0
// A parallel loop on classic tbb::task, whose optimisations can be switched off. The 2007 article
// ("The Foundations for Scalable Multi-Core Software in Intel Threading Building Blocks", Intel
// Technology Journal 11/4, figures 7 to 9) measured such a modified parallel_for. Its source was
// not published; this is a reconstruction from the text. The range is halved while the partition
// asks for it, and every half is one task.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/task.h>

#include <utility>

#include "classic_tricks.hpp"

namespace bench {

// Down to the grain size of the range.
class SimplePartition {
 public:
  template <typename Range>
  bool wants_halves(const Range& range, const tbb::task&) {
    return range.is_divisible();
  }
  SimplePartition halved() { return {}; }
};

// Like the article's auto_partitioner: a few parts for each thread. A stolen part shows that a
// thread is idle, so it is cut into a few more.
class AutoPartition {
 public:
  explicit AutoPartition(unsigned threads) : parts_(kPartsEach * threads) {}

  template <typename Range>
  bool wants_halves(const Range& range, const tbb::task& task) {
    // Once only: a recycled task stays marked as stolen.
    if (task.is_stolen_task() && !cut_again_ && parts_ < kPartsEach) {
      parts_ = kPartsEach;
      cut_again_ = true;
    }
    return parts_ > 1 && range.is_divisible();
  }

  AutoPartition halved() {
    parts_ /= 2;
    AutoPartition other = *this;
    other.cut_again_ = false;
    return other;
  }

 private:
  static constexpr unsigned kPartsEach = 4;
  unsigned parts_;
  bool cut_again_ = false;
};

template <Tricks kTricks, typename Range, typename Body, typename Partition>
class ClassicForTask : public tbb::task {
 public:
  // Each task has a copy of the body, as in the library's own loop.
  ClassicForTask(const Range& range, const Body& body, const Partition& partition)
      : range_(range), body_(body), partition_(partition) {}

  tbb::task* execute() override {
    if (!partition_.wants_halves(range_, *this)) {
      body_(range_);
      return nullptr;
    }
    const Range right(range_, tbb::split());  // range_ keeps the left half
    const Partition parts = partition_.halved();
    if constexpr (kTricks == Tricks::kPlain) {
      set_ref_count(3);  // two children and the wait
      spawn(child_of(*this, right, parts));
      spawn_and_wait_for_all(child_of(*this, range_, parts));
      return nullptr;
    } else {
      tbb::task& join = *new (allocate_continuation()) tbb::empty_task;
      join.set_ref_count(2);
      tbb::task& second = child_of(join, right, parts);
      if constexpr (kTricks == Tricks::kRecycling) {
        recycle_as_child_of(join);
        spawn(second);
        return this;
      } else {
        tbb::task& first = child_of(join, range_, parts);
        spawn(second);
        if constexpr (kTricks == Tricks::kBypass) return &first;
        spawn(first);
        return nullptr;
      }
    }
  }

 private:
  tbb::task& child_of(tbb::task& parent, const Range& range, const Partition& partition) {
    return *new (parent.allocate_child()) ClassicForTask(range, body_, partition);
  }

  Range range_;
  const Body body_;
  Partition partition_;
};

// Calls `body(part)` for parts of `range`; with the simple partition a part has at most the grain
// size. `body` is a const-callable object.
template <Tricks kTricks, typename Range, typename Body, typename Partition = SimplePartition>
void classic_for(const Range& range, const Body& body, const Partition& partition = {}) {
  if (range.empty()) return;
  using Task = ClassicForTask<kTricks, Range, Body, Partition>;
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) Task(range, body, partition));
}

}  // namespace bench
