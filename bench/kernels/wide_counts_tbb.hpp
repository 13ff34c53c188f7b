// SPDX-License-Identifier: Apache-2.0
// The loads of wide_counts.hpp with the oneTBB interface.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/partitioner.h>

#include <numeric>

#include "fibonacci/tbb_fork.hpp"
#include "tbb_width.hpp"
#include "wide_counts.hpp"

namespace wide {

class Runner {
 public:
  explicit Runner(unsigned threads) : width_(threads) {}

  void operator()(const std::string& how, unsigned n, Numbers& numbers) const {
    width_.run([&] {
      run(how, n, numbers);
      return 0;
    });
  }

 private:
  static void run(const std::string& how, unsigned n, Numbers& numbers) {
    const auto body = [&](std::size_t i) { numbers(i); };
    if (how == "fork") {
      check(fibonacci::parallel(n, 2), n);
    } else if (how == "group") {
      check(fibonacci::parallel_in_group(n, 2), n);
    } else if (how == "for") {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, n, 1),
          [&](const tbb::blocked_range<std::size_t>& part) {
            for (std::size_t i = part.begin(); i != part.end(); ++i) numbers(i);
          },
          tbb::simple_partitioner());
    } else if (how == "auto") {
      tbb::parallel_for(std::size_t{0}, std::size_t{n}, body);
    } else {
      bench::check(how == "each", "there is no such how=");
      static std::vector<std::size_t> items;
      if (items.size() != n) {
        items.resize(n);
        std::iota(items.begin(), items.end(), std::size_t{0});
      }
      tbb::parallel_for_each(items.begin(), items.end(), body);
    }
  }

  static void check(std::uint64_t found, unsigned n) {
    bench::check(found == fibonacci::by_addition(n), "not the Fibonacci number");
  }

  mutable bench::Width width_;
};

}  // namespace wide
