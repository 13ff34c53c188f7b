// SPDX-License-Identifier: Apache-2.0
// How wide a oneTBB program runs: exactly `threads` threads, the caller among them, also when that
// is more than there are cores.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <cstddef>

#include "meeting.hpp"

namespace bench {

class ColdWidth {
 public:
  explicit ColdWidth(unsigned threads)
      : limit_(tbb::global_control::max_allowed_parallelism, threads),
        arena_(static_cast<int>(threads)) {}

  // Calls `work()` with that many threads at its disposal.
  template <typename Work>
  auto run(const Work& work) {
    return arena_.execute(work);
  }

  // Calls `body(i)` for each i in [0, count), each as a task of its own.
  template <typename Body>
  void each(std::size_t count, const Body& body) {
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, count, 1),
          [&](const tbb::blocked_range<std::size_t>& part) {
            for (std::size_t i = part.begin(); i != part.end(); ++i) body(i);
          },
          tbb::simple_partitioner());
    });
  }

 private:
  tbb::global_control limit_;
  tbb::task_arena arena_;
};

// For all but the kernels that measure the start itself.
using Width = WarmWidth<ColdWidth>;

}  // namespace bench
