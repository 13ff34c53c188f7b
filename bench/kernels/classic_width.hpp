// SPDX-License-Identifier: Apache-2.0
// How wide a program of the classic API runs: exactly `threads` threads, the caller among them.
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

  // Calls `work()` with that many threads at its disposal.
  template <typename Work>
  auto run(const Work& work) {
    return work();
  }

  // Calls `body(i)` for each i in [0, count), each as a task of its own.
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

// For all but the kernels that measure the start itself.
using Width = WarmWidth<ColdWidth>;

}  // namespace bench
