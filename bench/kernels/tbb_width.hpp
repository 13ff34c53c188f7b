// SPDX-License-Identifier: Apache-2.0
// The width of a oneTBB program: exactly `threads` threads, including the caller, even if there are
// fewer cores.
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

  // Calls `work()` in the scope of that many threads.
  template <typename Work>
  auto run(const Work& work) {
    return arena_.execute(work);
  }

  // Calls `body(i)` for each i in [0, count), each as a separate task.
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

// For all kernels except those that measure the start itself.
using Width = WarmWidth<ColdWidth>;

}  // namespace bench
