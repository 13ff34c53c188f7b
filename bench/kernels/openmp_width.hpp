// SPDX-License-Identifier: Apache-2.0
// The width of an OpenMP program: exactly `threads` threads, including the caller. Idle threads
// wait as the runtime does by default, as for users.
#pragma once

#include <omp.h>

#include <cstddef>

#include "meeting.hpp"

namespace bench {

class ColdWidth {
 public:
  explicit ColdWidth(unsigned threads) {
    omp_set_dynamic(0);
    omp_set_num_threads(static_cast<int>(threads));
  }

  // Calls `work()` as the first task of a team of that many threads.
  template <typename Work>
  auto run(const Work& work) {
    decltype(work()) result{};
#pragma omp parallel
#pragma omp single
    result = work();
    return result;
  }

  // Calls `body(i)` for each i in [0, count), handed out one by one.
  template <typename Body>
  void each(std::size_t count, const Body& body) {
    // An int: libomp hands out a loop over 64-bit numbers under a lock.
    const auto end = static_cast<int>(count);
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < end; ++i) body(static_cast<std::size_t>(i));
  }
};

// For all kernels except those that measure the start itself.
using Width = WarmWidth<ColdWidth>;

}  // namespace bench
