// SPDX-License-Identifier: Apache-2.0
// False sharing caused by an allocator, after Figure 10 of "The Foundations for Scalable
// Multi-Core Software in Intel Threading Building Blocks" (Intel Technology Journal 11-4, 2007):
// each thread repeatedly allocates a small object, writes and reads every byte of it many times,
// and frees it; the time of the loop is measured. An allocator that gives parts of one cache line
// to two threads slows both of them down.
//
//   active   every thread allocates its objects itself, at the same time as the others
//   passive  the main thread has allocated one object for each thread, one after the other, so that
//            most allocators place them side by side; each thread frees the object it was given
//            before its loop. If a freed block goes to the heap of the thread that frees it, the
//            loop gets that very block again, and with it a part of a line that other threads use.
//            (Berger et al., "Hoard", ASPLOS 2000, name the two kinds.)
//
// The time is the CPU time of the thread. It includes waiting for a line and excludes waiting for a
// core, so that more threads than cores do not look like false sharing. Only threads that run at
// the same moment can share a line, so on two cores two threads show the whole effect.
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "harness.hpp"

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Reads and writes every byte `rounds` times and returns the sum of the bytes. Each byte counts the
// rounds, which reveals another thread in the same block. The compiler cannot keep a volatile byte
// in a register.
std::uint64_t use(unsigned char* object, std::size_t size, std::uint64_t rounds) {
  volatile unsigned char* const bytes = object;
  for (std::size_t i = 0; i < size; ++i) bytes[i] = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(bytes[i] + 1);
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += bytes[i];
  return sum;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t objects = arguments.number("objects", 10);
  const std::uint64_t rounds = arguments.number("rounds", 1001);
  const std::size_t size = arguments.number("size", 8);
  const bool passive = arguments.number("passive", 0) != 0;
  const unsigned threads = arguments.threads();
  const std::uint64_t expected = size * (rounds & 0xFF);

  // The first objects fill the holes from the start of the program. The following ones, one for
  // each thread, lie side by side.
  constexpr std::size_t kFill = 1000;
  std::vector<void*> fill(passive ? kFill : 0, nullptr);
  std::vector<void*> given(threads, nullptr);
  std::vector<double> seconds(threads);
  if (passive) {
    for (void*& object : fill) object = std::malloc(size);
    for (void*& object : given) object = std::malloc(size);
  }
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    std::free(given[thread]);
    const double begin = processor_seconds();
    for (std::uint64_t i = 0; i < objects; ++i) {
      auto* const object = static_cast<unsigned char*>(std::malloc(size));
      bench::check(object != nullptr, "malloc gave NULL");
      bench::check(use(object, size, rounds) == expected, "an object was overwritten");
      std::free(object);
    }
    seconds[thread] = processor_seconds() - begin;
  });
  for (void* object : fill) std::free(object);
  result.value = std::accumulate(seconds.begin(), seconds.end(), 0.0) / threads;
  result.extra["slowest_thread_seconds"] = *std::max_element(seconds.begin(), seconds.end());
  result.checksum = expected * objects * threads;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "false_sharing",
    .title = "False sharing",
    .what =
        "Each thread repeatedly allocates an object of 8 bytes, writes and reads every byte of "
        "it many times and frees it; in the passive case it has first freed a block that came "
        "from the main thread. The time of the loop should not depend on the number of threads, "
        "unless the allocator puts objects of two threads into one cache line.",
    .group = "seed allocator",
    .figure = "Figure 10",
    .metric = "processor time of a thread's loop",
    .plot = "difference",
    .threads = {1, 2, 4, 8},
    .cases = {{"active", "objects=2000 rounds=4001", "objects=10000 rounds=4001",
               "objects=150000 rounds=4001"},
              {"passive", "passive=1 objects=2000 rounds=4001",
               "passive=1 objects=10000 rounds=4001", "passive=1 objects=150000 rounds=4001"}},
    .run = run,
};
