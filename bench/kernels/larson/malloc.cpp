// SPDX-License-Identifier: Apache-2.0
// A long-running server, after Larson and Krishnan, "Memory Allocation for Long-Running Server
// Applications" (ISMM 1998), with the 8 to 100 bytes of Figure 13 of "The Foundations for Scalable
// Multi-Core Software in Intel Threading Building Blocks" (Intel Technology Journal 11-4, 2007).
//
// Every thread has 1,000 slots with one block each and replaces the blocks of random slots. After a
// number of replacements it starts a successor, hands its slots over and ends; blocks thus move
// from thread to thread. The main thread allocates and shuffles the first blocks. The original
// counts the operations in a fixed time. Here the work is fixed, so that it has a checksum: the
// generations are divided among the lines of threads, and rows with any number of threads do the
// same work.
//
// Two more cases are ours. In `sized` the blocks come from operator new, and delete is told their
// sizes. In `shuffled` a thread frees all its blocks in a random order and then allocates as many
// again, so that whole slabs become empty, out of order, and are filled anew.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <future>
#include <new>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "marks.hpp"

namespace {

constexpr std::uint32_t kSmallest = 8;
constexpr std::uint32_t kLargest = 100;

enum class Case { kPlain, kSized, kShuffled };

template <Case kCase>
struct Slot {
  void* block = nullptr;
  std::uint32_t size = 0;
  std::uint64_t mark = 0;

  void fill(bench::Random& random) {
    size = kSmallest + random.below(kLargest - kSmallest + 1);
    mark = random.next();
    block = kCase == Case::kSized ? ::operator new(size) : std::malloc(size);
    bench::check(block != nullptr, "malloc gave NULL");
    bench::put_mark(block, size, mark);
  }
  std::uint64_t clear() {
    bench::check(bench::has_mark(block, size, mark), "a block was overwritten");
    if constexpr (kCase == Case::kSized) {
      ::operator delete(block, std::size_t{size});
    } else {
      std::free(block);
    }
    return mark ^ size;
  }
};

template <typename Item>
void shuffle(std::vector<Item>& items, bench::Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[random.below(static_cast<std::uint32_t>(i))]);
  }
}

struct Work {
  std::uint64_t generations;
  std::uint64_t replacements;  // of each generation
};

// The threads that follow each other on the same slots. Each line of threads has its own cache
// lines (and pairs of lines that are fetched together), so that only the allocator can cause false
// sharing.
template <Case kCase>
class alignas(128) Line {
 public:
  Line(Work work, std::vector<Slot<kCase>> slots, unsigned number)
      : work_(work), slots_(std::move(slots)), random_(number + 1), threads_(work.generations) {}

  // The calling thread is the first generation. It waits here for the last one.
  void run() {
    live(0);
    first_over_.set_value();
    last_over_.get_future().wait();
    if (threads_.size() > 1) threads_.back().join();
  }

  // The blocks that are left at the end.
  void clear() {
    for (Slot<kCase>& slot : slots_) sum_ += slot.clear();
  }
  std::uint64_t sum() const { return sum_; }

 private:
  void live(std::uint64_t generation) {
    bench::Random random = random_;
    sum_ += kCase == Case::kShuffled ? replace_all(random) : replace_at_random(random);
    random_ = random;
    if (++generation == work_.generations) {
      last_over_.set_value();
    } else {
      threads_[generation] = std::thread([this, generation] { follow(generation); });
    }
  }

  std::uint64_t replace_at_random(bench::Random& random) {
    Slot<kCase>* const slots = slots_.data();
    const auto count = static_cast<std::uint32_t>(slots_.size());
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < work_.replacements; ++i) {
      Slot<kCase>& slot = slots[random.below(count)];
      sum += slot.clear();
      slot.fill(random);
    }
    return sum;
  }

  // All slots at once, as often as that many replacements need.
  std::uint64_t replace_all(bench::Random& random) {
    std::vector<std::uint32_t> order(slots_.size());
    std::iota(order.begin(), order.end(), 0);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < work_.replacements; i += slots_.size()) {
      shuffle(order, random);
      for (const std::uint32_t at : order) sum += slots_[at].clear();
      for (Slot<kCase>& slot : slots_) slot.fill(random);
    }
    return sum;
  }

  // The predecessor and its stack end before the successor starts. Its entry for the successor in
  // threads_ can be read after that.
  void follow(std::uint64_t generation) {
    if (generation == 1) {
      first_over_.get_future().wait();
    } else {
      threads_[generation - 1].join();
    }
    live(generation);
  }

  Work work_;
  std::vector<Slot<kCase>> slots_;
  bench::Random random_;
  std::vector<std::thread> threads_;  // by generation; the first is the calling thread
  // No std::latch, which loses wake-ups in gcc 12's library for Windows.
  std::promise<void> first_over_;
  std::promise<void> last_over_;
  std::uint64_t sum_ = 0;
};

// Filled and shuffled by the calling thread.
template <Case kCase>
std::vector<Slot<kCase>> first_slots(std::size_t count) {
  bench::Random random(0);
  std::vector<Slot<kCase>> slots(count);
  for (Slot<kCase>& slot : slots) slot.fill(random);
  shuffle(slots, random);
  return slots;
}

// The seconds of the timed part.
template <Case kCase>
double run_lines(unsigned threads, std::uint64_t per_thread, Work work, std::uint64_t& checksum) {
  const std::vector<Slot<kCase>> slots = first_slots<kCase>(per_thread * threads);
  std::deque<Line<kCase>> lines;
  for (unsigned i = 0; i < threads; ++i) {
    const auto begin = slots.begin() + static_cast<std::ptrdiff_t>(i * per_thread);
    const auto end = begin + static_cast<std::ptrdiff_t>(per_thread);
    lines.emplace_back(work, std::vector<Slot<kCase>>(begin, end), i);
  }
  const double seconds = bench::in_threads(threads, [&](unsigned i) { lines[i].run(); });
  for (Line<kCase>& line : lines) {
    line.clear();
    checksum += line.sum();
  }
  return seconds;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t per_thread = arguments.number("slots", 1000);
  const unsigned threads = arguments.threads();
  const std::uint64_t replacements = arguments.number("replacements", 10'000);
  const std::string which = arguments.text("case", "plain");
  const Work work{std::max<std::uint64_t>(1, arguments.number("generations", 3) / threads),
                  replacements};
  bench::check(per_thread > 0, "slots= begins at 1");
  bench::check(which == "plain" || which == "sized" || which == "shuffled",
               "case= is plain, sized or shuffled");
  const auto run_case = which == "sized"      ? run_lines<Case::kSized>
                        : which == "shuffled" ? run_lines<Case::kShuffled>
                                              : run_lines<Case::kPlain>;
  result.seconds = run_case(threads, per_thread, work, result.checksum);
  const std::uint64_t pairs = work.generations * work.replacements * threads;
  result.value = static_cast<double>(pairs) / result.seconds;
  result.extra["threads_made"] = static_cast<double>(work.generations * threads);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "larson",
    .title = "Larson, 8 to 100 bytes",
    .what =
        "Every thread replaces random blocks of 8 to 100 bytes among its 1,000, then hands them "
        "to a successor and ends, like the threads of a long-running server, with free, with "
        "sized delete, or all blocks at once in a shuffled order. The figure is the "
        "number of pairs of free and malloc that all threads together do per second.",
    .group = "seed allocator",
    .figure = "Figure 13",
    .metric = "throughput",
    .unit = "1/s",
    .higher_is_better = true,
    .plot = "lines",
    .threads = {1, 2, 4, 8},
    .cases = {{"", "replacements=100000 generations=24", "replacements=100000 generations=96",
               "replacements=100000 generations=640"},
              {"sized", "replacements=100000 generations=24 case=sized",
               "replacements=100000 generations=96 case=sized",
               "replacements=100000 generations=640 case=sized"},
              {"shuffled", "replacements=100000 generations=24 case=shuffled",
               "replacements=100000 generations=96 case=shuffled",
               "replacements=100000 generations=640 case=shuffled"}},
    .run = run,
};
