// SPDX-License-Identifier: Apache-2.0
// A server that lives long, after Larson and Krishnan, "Memory Allocation for Long-Running Server
// Applications" (ISMM 1998), with the 8 to 100 bytes of Figure 13 of "The Foundations for Scalable
// Multi-Core Software in Intel Threading Building Blocks" (Intel Technology Journal 11-4, 2007).
//
// Every thread has 1,000 slots with a block each and replaces the blocks of random slots. After so
// many replacements it starts a successor, hands its slots over and ends; blocks thus bleed from
// thread to thread. The first blocks all come from the main thread, shuffled. The original counts
// what is done in a fixed time; here the work is fixed, and its checksum with it.
#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "marks.hpp"

namespace {

constexpr std::uint32_t kSmallest = 8;
constexpr std::uint32_t kLargest = 100;

struct Slot {
  void* block = nullptr;
  std::uint32_t size = 0;
  std::uint64_t mark = 0;

  void fill(bench::Random& random) {
    size = kSmallest + random.below(kLargest - kSmallest + 1);
    mark = random.next();
    block = std::malloc(size);
    bench::check(block != nullptr, "malloc gave NULL");
    bench::put_mark(block, size, mark);
  }
  std::uint64_t clear() {
    bench::check(bench::has_mark(block, size, mark), "a block was overwritten");
    std::free(block);
    return mark ^ size;
  }
};

struct Work {
  std::uint64_t generations;
  std::uint64_t replacements;  // of each generation
};

// The threads that follow each other on the same slots.
class Line {
 public:
  Line(Work work, std::vector<Slot> slots, unsigned number)
      : work_(work), slots_(std::move(slots)), random_(number + 1), threads_(work.generations) {}

  // The calling thread is the first generation.
  void run() {
    live(0);
    // A thread is entered here before the one that starts it ends, so this finds them all.
    for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
  }

  // What is left in the end.
  void clear() {
    for (Slot& slot : slots_) sum_ += slot.clear();
  }
  std::uint64_t sum() const { return sum_; }

 private:
  void live(std::uint64_t generation) {
    const auto count = static_cast<std::uint32_t>(slots_.size());
    for (std::uint64_t i = 0; i < work_.replacements; ++i) {
      Slot& slot = slots_[random_.below(count)];
      sum_ += slot.clear();
      slot.fill(random_);
    }
    if (++generation < work_.generations) {
      threads_[generation] = std::thread([this, generation] { live(generation); });
    }
  }

  Work work_;
  std::vector<Slot> slots_;
  bench::Random random_;
  std::vector<std::thread> threads_;
  std::uint64_t sum_ = 0;
};

// Filled and shuffled by the calling thread.
std::vector<Slot> first_slots(std::size_t count) {
  bench::Random random(0);
  std::vector<Slot> slots(count);
  for (Slot& slot : slots) slot.fill(random);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(slots[i - 1], slots[random.below(static_cast<std::uint32_t>(i))]);
  }
  return slots;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t per_thread = arguments.number("slots", 1000);
  const unsigned threads = arguments.threads();
  const std::uint64_t replacements = arguments.number("replacements", 10'000);
  const Work work{arguments.number("generations", 3), replacements};
  bench::check(per_thread > 0 && work.generations > 0, "slots= and generations= begin at 1");

  const std::vector<Slot> slots = first_slots(per_thread * threads);
  std::vector<Line> lines;
  for (unsigned i = 0; i < threads; ++i) {
    const auto begin = slots.begin() + static_cast<std::ptrdiff_t>(i * per_thread);
    lines.emplace_back(
        work, std::vector<Slot>(begin, begin + static_cast<std::ptrdiff_t>(per_thread)), i);
  }
  result.seconds = bench::in_threads(threads, [&](unsigned i) { lines[i].run(); });
  for (Line& line : lines) {
    line.clear();
    result.checksum += line.sum();
  }
  const std::uint64_t pairs = work.generations * work.replacements * threads;
  result.value = static_cast<double>(pairs) / result.seconds;
  result.extra["threads_made"] = static_cast<double>(work.generations * threads);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "larson",
    .title = "Larson, 8 to 100 bytes",
    .what =
        "Every thread replaces random blocks of 8 to 100 bytes among its 1,000, then hands them to "
        "a successor and ends, as the threads of a server that lives long. Shown is how many pairs "
        "of free and malloc all threads together do in a second.",
    .group = "seed allocator",
    .figure = "Figure 13",
    .metric = "throughput",
    .unit = "1/s",
    .higher_is_better = true,
    .plot = "lines",
    .threads = {1, 2, 4, 8},
    .cases = {{"", "replacements=50000 generations=8", "replacements=100000 generations=20",
               "replacements=100000 generations=200"}},
    .run = run,
};
