// SPDX-License-Identifier: Apache-2.0
// Every object is freed by another thread than the one that allocated it, after Figure 11 of "The
// Foundations for Scalable Multi-Core Software in Intel Threading Building Blocks" (Intel
// Technology Journal 11-4, 2007). Each thread allocates a number of objects of 8 bytes, touches
// each, and passes them in equal proportion to all other threads, which read them; then each thread
// frees the objects it has received. A single thread frees its own. As in the paper's footnote 7,
// malloc and free are timed separately and summed.
//
// A phase lasts from the start of its first thread until the end of its last one. It does not
// include the barriers between phases or touching the objects. A phase of more threads than cores
// takes longer for that reason alone, so its time counts for the number of threads that can run at
// once: up to the number of cores it is the paper's time of 1,000 objects in each thread.
//
// The total number of objects in a round is fixed and divided among the threads. Rows of any number
// of threads thus do the same work, and a phase lasts for milliseconds, so that it does not matter
// that a barrier wakes one thread later than another. A first round grows the heap and is not
// timed.
#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <vector>

#include "marks.hpp"

namespace {

constexpr std::size_t kSize = 8;

// The phases of all threads: begin and end of each, added up when all have passed.
class Phase {
 public:
  explicit Phase(unsigned threads) : begins_(threads), ends_(threads) {}

  template <typename Body>
  void time(unsigned thread, Body body) {
    begins_[thread].value = bench::now();
    body();
    ends_[thread].value = bench::now();
  }
  // For one thread, after all have called time().
  void add() {
    const auto earlier = [](const Time& a, const Time& b) { return a.value < b.value; };
    seconds_ += std::max_element(ends_.begin(), ends_.end(), earlier)->value -
                std::min_element(begins_.begin(), begins_.end(), earlier)->value;
  }
  double seconds() const { return seconds_; }

 private:
  struct alignas(128) Time {
    double value = 0;
  };
  std::vector<Time> begins_;
  std::vector<Time> ends_;
  double seconds_ = 0;
};

// The objects that thread `self` allocates, and those that it then receives from the other threads.
struct Chunk {
  std::vector<void*> made;
  std::vector<void*> received;
};

class Exchange {
 public:
  Exchange(unsigned threads, std::size_t count, std::uint64_t rounds)
      : threads_(threads),
        count_(count),
        rounds_(rounds),
        chunks_(threads),
        sums_(threads),
        take_(threads),
        give_back_(threads),
        barrier_(static_cast<std::ptrdiff_t>(threads)) {
    for (Chunk& chunk : chunks_) {
      chunk.made.resize(count);
      chunk.received.resize(count);
    }
  }

  void work(unsigned self) {
    Chunk& chunk = chunks_[self];
    for (std::uint64_t round = 0; round <= rounds_; ++round) {
      barrier_.arrive_and_wait();
      take_.time(self, [&] {
        for (void*& object : chunk.made) object = std::malloc(kSize);
      });
      for (std::size_t i = 0; i < count_; ++i) {
        bench::check(chunk.made[i] != nullptr, "malloc gave NULL");
        bench::put_mark(chunk.made[i], kSize, mark(self, round, i));
      }
      barrier_.arrive_and_wait();
      receive(self, round);
      barrier_.arrive_and_wait();
      give_back_.time(self, [&] {
        for (void* object : chunk.received) std::free(object);
      });
      barrier_.arrive_and_wait();
      if (self == 0 && round > 0) {
        take_.add();
        give_back_.add();
      }
    }
  }

  double take_seconds() const { return take_.seconds(); }
  double free_seconds() const { return give_back_.seconds(); }
  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t part : sums_) sum += part;
    return sum;
  }

 private:
  // Different for every object of a round, and in every round.
  static std::uint64_t mark(unsigned maker, std::uint64_t round, std::size_t i) {
    return bench::mark_of((round * 4096 + maker) << 32 | i);
  }

  // Thread `self` reads its share of every other thread's objects. The objects of a thread go to
  // the others in turn; all threads have the same number, so each receives that number too.
  void receive(unsigned self, std::uint64_t round) {
    const unsigned others = std::max(1u, threads_ - 1);
    std::size_t at = 0;
    std::uint64_t sum = 0;
    for (unsigned step = 0; step < others; ++step) {
      const unsigned maker = threads_ == 1 ? 0 : (self + threads_ - 1 - step) % threads_;
      for (std::size_t i = step; i < count_; i += others) {
        void* const object = chunks_[maker].made[i];
        const std::uint64_t expected = mark(maker, round, i);
        bench::check(bench::has_mark(object, kSize, expected), "an object was overwritten");
        sum += expected;
        chunks_[self].received[at++] = object;
      }
    }
    bench::check(at == count_, "objects got lost");
    sums_[self] += sum;
  }

  unsigned threads_;
  std::size_t count_;
  std::uint64_t rounds_;
  std::vector<Chunk> chunks_;
  std::vector<std::uint64_t> sums_;
  Phase take_;
  Phase give_back_;
  std::barrier<> barrier_;
};

void run(bench::Arguments& arguments, bench::Result& result) {
  const unsigned threads = arguments.threads();
  const std::size_t count = arguments.number("objects", 16'000) / threads;
  const std::uint64_t rounds = arguments.number("rounds", 8);
  bench::check(count > 0 && rounds > 0, "objects= begins at threads=, rounds= at 1");
  Exchange exchange(threads, count, rounds);
  bench::in_threads(threads, [&](unsigned self) { exchange.work(self); });
  const double running = std::min(threads, bench::usable_cores());
  const double thousands = static_cast<double>(count * rounds) * threads / running / 1000;
  result.seconds = exchange.take_seconds() + exchange.free_seconds();
  result.value = result.seconds * 1e6 / thousands;
  result.extra["malloc_us"] = exchange.take_seconds() * 1e6 / thousands;
  result.extra["free_us"] = exchange.free_seconds() * 1e6 / thousands;
  result.checksum = exchange.sum();
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "speed_cross",
    .title = "Freed by other threads (speed-cross)",
    .what =
        "Each thread allocates 8-byte objects, passes them to all other threads in equal parts, "
        "and frees those it has received: every free is remote. The figure is the average time "
        "per thread for malloc and free of 1,000 objects, on as many threads as can run at once.",
    .group = "seed allocator",
    .figure = "Figure 11",
    .metric = "elapsed time of malloc and free of 1,000 objects",
    .unit = "us",
    .plot = "log lines",
    .threads = {1, 2, 4, 8},
    .cases = {{"", "objects=400000 rounds=8", "objects=800000 rounds=16",
               "objects=800000 rounds=100"}},
    .run = run,
};
