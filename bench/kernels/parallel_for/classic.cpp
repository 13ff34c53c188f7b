// SPDX-License-Identifier: Apache-2.0
// The empty loop with the classic API: the modified loop, plain, +C, +CB and +CBR, and the
// library's own, which always has all three.
#include "../classic_for.hpp"
#include "../classic_width.hpp"
#include "parallel_for.hpp"

namespace {

using Range = tbb::blocked_range<std::uint64_t>;

template <typename Part>
void library(std::uint64_t count, std::uint64_t grain, Part) {
  const parallel_for::Body<Part> body{};
  if (grain == 0) {
    tbb::parallel_for(Range(0, count), body, tbb::auto_partitioner());
  } else {
    tbb::parallel_for(Range(0, count, grain), body, tbb::simple_partitioner());
  }
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const unsigned threads = arguments.threads();
  bench::Width width(threads);
  const std::string variant = arguments.text("variant", "plain");
  if (variant == "library") {
    return parallel_for::measure(arguments, result, [](auto... words) { library(words...); });
  }
  bench::with_tricks(variant, [&](auto tricks) {
    constexpr bench::Tricks kTricks = tricks.value;
    parallel_for::measure(
        arguments, result, [&](std::uint64_t count, std::uint64_t grain, auto part) {
          const parallel_for::Body<decltype(part)> body{};
          if (grain == 0) {
            bench::classic_for<kTricks>(Range(0, count), body, bench::AutoPartition(threads));
          } else {
            bench::classic_for<kTricks>(Range(0, count, grain), body);
          }
        });
  });
}

}  // namespace

const bench::Kernel bench::kernel = parallel_for::description(run);
