// SPDX-License-Identifier: Apache-2.0
// The empty loop with the oneTBB API: the simple partitioner for a grain size, else the automatic.
#include "../tbb_width.hpp"
#include "parallel_for.hpp"

namespace {

using Range = tbb::blocked_range<std::uint64_t>;

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  parallel_for::measure(
      arguments, result, [&](std::uint64_t count, std::uint64_t grain, auto part) {
        const parallel_for::Body<decltype(part)> body{};
        width.run([&] {
          if (grain == 0) {
            tbb::parallel_for(Range(0, count), body, tbb::auto_partitioner());
          } else {
            tbb::parallel_for(Range(0, count, grain), body, tbb::simple_partitioner());
          }
        });
      });
}

}  // namespace

const bench::Kernel bench::kernel = parallel_for::description(run);
