// SPDX-License-Identifier: Apache-2.0
// How wide an OpenMP program runs: exactly `threads` threads, the caller among them. How its idle
// threads wait is left to the runtime's default, as users have it.
#pragma once

#include <omp.h>

#include <cstddef>

namespace bench {

class Width {
 public:
  explicit Width(unsigned threads) {
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
#pragma omp parallel for schedule(dynamic, 1)
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
};

}  // namespace bench
