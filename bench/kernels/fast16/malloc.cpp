// SPDX-License-Identifier: Apache-2.0
// The fast path alone: a block of 16 bytes is taken and given back at once, again and again.
#include <cstdlib>

#include "harness.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t pairs = arguments.number("pairs", 1'000'000);
  const unsigned threads = arguments.threads();
  result.seconds = bench::in_threads(threads, [&](unsigned) {
    for (std::uint64_t i = 0; i < pairs; ++i) {
      void* block = std::malloc(16);
      bench::check(block != nullptr, "malloc gave NULL");
      bench::escape(block);
      std::free(block);
    }
  });
  result.value = result.seconds * 1e9 / static_cast<double>(pairs);
  result.checksum = pairs * threads;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "fast16",
    .title = "malloc(16) and free",
    .what =
        "Every thread takes a block of 16 bytes and gives it back at once. This is the fast "
        "path alone: instructions and the dependency chain between free and the next malloc.",
    .group = "modern allocator",
    .metric = "time of a pair",
    .unit = "ns",
    .threads = {1, 2, 4},
    .cases = {{"", "pairs=5000000", "pairs=40000000", "pairs=200000000"}},
    .run = run,
};
