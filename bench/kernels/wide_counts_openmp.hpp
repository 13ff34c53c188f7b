// SPDX-License-Identifier: Apache-2.0
// The loads of wide_counts.hpp with OpenMP.
#pragma once

#include "fibonacci/openmp_fork.hpp"
#include "openmp_width.hpp"
#include "wide_counts.hpp"

namespace wide {

class Runner {
 public:
  explicit Runner(unsigned threads) : width_(threads) {}

  void operator()(const std::string& how, unsigned n, Numbers& numbers) const {
    const int end = static_cast<int>(n);
    if (how == "fork") {
      const std::uint64_t found = width_.run([&] { return fibonacci::parallel(n, 2); });
      bench::check(found == fibonacci::by_addition(n), "not the Fibonacci number");
    } else if (how == "for") {
#pragma omp parallel for schedule(dynamic, 1)
      for (int i = 0; i < end; ++i) numbers(static_cast<std::size_t>(i));
    } else {
      bench::check(how == "auto", "there is no such how=");
#pragma omp parallel for schedule(guided)
      for (int i = 0; i < end; ++i) numbers(static_cast<std::size_t>(i));
    }
  }

 private:
  mutable bench::Width width_;
};

}  // namespace wide
