// SPDX-License-Identifier: Apache-2.0
// The width of a program of the classic API: exactly `threads` threads, including the caller.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_scheduler_init.h>

#include <cstddef>

#include "meeting.hpp"

namespace bench {

class ColdWidth {
 public:
  explicit ColdWidth(unsigned threads) : init_(static_cast<int>(threads)) {}

  // Calls `work()` in the scope of that many threads.
  template <typename Work>
  auto run(const Work& work) {
    return work();
  }

  // Calls `body(i)` for each i in [0, count), each as a separate task.
  template <typename Body>
  void each(std::size_t count, const Body& body) {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, count, 1),
        [&](const tbb::blocked_range<std::size_t>& part) {
          for (std::size_t i = part.begin(); i != part.end(); ++i) body(i);
        },
        tbb::simple_partitioner());
  }

 private:
  tbb::task_scheduler_init init_;
};

// For all kernels except those that measure the start itself.
using Width = WarmWidth<ColdWidth>;

}  // namespace bench
