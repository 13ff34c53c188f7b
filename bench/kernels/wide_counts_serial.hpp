// SPDX-License-Identifier: Apache-2.0
// The loads of wide_counts.hpp without a scheduler.
#pragma once

#include "wide_counts.hpp"

namespace wide {

class Runner {
 public:
  explicit Runner(unsigned) {}
  void operator()(const std::string&, unsigned n, Numbers& numbers) const {
    if (numbers.count() == 0) {
      bench::check(fibonacci::serial(n) == fibonacci::by_addition(n), "not the Fibonacci number");
    }
    for (std::size_t i = 0; i < numbers.count(); ++i) numbers(i);
  }
};

}  // namespace wide
