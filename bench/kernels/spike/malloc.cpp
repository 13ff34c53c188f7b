// SPDX-License-Identifier: Apache-2.0
// A load spike made by three threads, which free nearly all of it and then sleep for good. Nobody
// calls the allocator for them again: only the main thread goes on, with little. How fast, and how
// far, does the resident set come back?
#include <latch>

#include "load_spike.hpp"

namespace {

constexpr unsigned kThreads = 3;

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::size_t bytes = (arguments.number("mib", 10) << 20U) / kThreads;
  const auto samples = static_cast<unsigned>(arguments.number("samples", 1));
  std::vector<load_spike::Part> parts(kThreads);
  std::latch made(kThreads);
  std::latch over(1);
  std::vector<std::thread> threads;
  const double begin = bench::now();
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      bench::Random random(i + 1);
      load_spike::survive(random, load_spike::make(random, bytes, parts[i]), parts[i]);
      made.count_down();
      over.wait();
    });
  }
  made.wait();
  result.seconds = bench::now() - begin;
  bench::Random random(99);
  load_spike::watch(samples, result, [&] { load_spike::work_a_little(random); });
  for (unsigned i = 0; i < kThreads; ++i) {
    parts[i].stack = load_spike::stack_bytes(threads[i].native_handle());
  }
  load_spike::conclude(parts, result);
  over.count_down();
  for (std::thread& thread : threads) thread.join();
  load_spike::give_back(parts);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "spike",
    .title = "After a load spike",
    .what =
        "Three threads make 300 MiB (100 in a quick run), free all but 8 % of the blocks and "
        "sleep; the main thread takes a few blocks four times a second. The curve is the resident "
        "set for 6 seconds from then on (1.5 in a quick run), the figure its end; the bound is the "
        "pages that the survivors lie in, a tenth more and 16 MiB.",
    .group = "modern allocator",
    .metric = "resident memory at the end",
    .unit = "MiB",
    .plot = "decay",
    .watches = true,
    .cases = {{"", "mib=100 samples=6", "mib=300 samples=24", "mib=300 samples=24"}},
    .run = run,
};
