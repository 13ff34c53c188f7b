// SPDX-License-Identifier: Apache-2.0
// A parallel loop on classic tbb::task, whose optimisations can be switched off. The 2007 article
// ("The Foundations for Scalable Multi-Core Software in Intel Threading Building Blocks", Intel
// Technology Journal 11/4, figures 7 to 9) measured such a modified parallel_for; its source was
// not published, so this is a reconstruction from the text: the range is halved until it is no
// longer divisible (the simple partitioner), and every half is one task.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/task.h>

#include <utility>

#include "classic_tricks.hpp"

namespace bench {

template <Tricks kTricks, typename Range, typename Body>
class ClassicForTask : public tbb::task {
 public:
  // The body is copied into each task, as in the library's own loop.
  ClassicForTask(const Range& range, const Body& body) : range_(range), body_(body) {}

  tbb::task* execute() override {
    if (!range_.is_divisible()) {
      body_(range_);
      return nullptr;
    }
    const Range right(range_, tbb::split());  // range_ keeps the left half
    if constexpr (kTricks == Tricks::kPlain) {
      set_ref_count(3);  // two children and the wait
      spawn(child_of(*this, right));
      spawn_and_wait_for_all(child_of(*this, range_));
      return nullptr;
    } else {
      tbb::task& join = *new (allocate_continuation()) tbb::empty_task;
      join.set_ref_count(2);
      tbb::task& second = child_of(join, right);
      if constexpr (kTricks == Tricks::kRecycling) {
        recycle_as_child_of(join);
        spawn(second);
        return this;
      } else {
        tbb::task& first = child_of(join, range_);
        spawn(second);
        if constexpr (kTricks == Tricks::kBypass) return &first;
        spawn(first);
        return nullptr;
      }
    }
  }

 private:
  tbb::task& child_of(tbb::task& parent, const Range& range) {
    return *new (parent.allocate_child()) ClassicForTask(range, body_);
  }

  Range range_;
  const Body body_;
};

// Calls `body(part)` for parts of `range` no longer divisible, that is at most its grain size long;
// `body` is a const-callable object.
template <Tricks kTricks, typename Range, typename Body>
void classic_for(const Range& range, const Body& body) {
  if (range.empty()) return;
  using Task = ClassicForTask<kTricks, Range, Body>;
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) Task(range, body));
}

}  // namespace bench
