// SPDX-License-Identifier: Apache-2.0
// A load spike of three threads, which free nearly all of it and then sleep until the end. No
// thread calls the allocator for them again; the main thread continues with little work. The figure
// is how fast, and how far, the resident set falls.
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
        "Three threads allocate 300 MiB (100 in a quick run), free all but 8 % of the blocks and "
        "sleep; the main thread allocates a few blocks four times a second. The curve is the "
        "resident set for the next 6 seconds (1.5 in a quick run) and the figure its end; the "
        "bound is the pages of the surviving blocks plus a tenth and 16 MiB.",
    .group = "modern allocator",
    .metric = "resident memory at the end",
    .unit = "MiB",
    .plot = "decay",
    .watches = true,
    .cases = {{"", "mib=100 samples=6", "mib=300 samples=24", "mib=300 samples=24"}},
    .run = run,
};
