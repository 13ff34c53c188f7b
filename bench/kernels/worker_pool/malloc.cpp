// SPDX-License-Identifier: Apache-2.0
// A feeder and its pool of workers, as in a server with one thread that accepts: the feeder makes
// jobs of several blocks and puts them into a bounded queue; a worker takes one, reads it,
// allocates the answer and frees the job. The feeder frees the answers, or a thread of its own
// does, the collector. Nearly every block is thus freed by another thread than the one that made
// it, always in the same direction: the feeder only makes jobs, and the workers free them.
//
// Jobs and answers travel in bundles of 16, and a full queue wakes the threads that wait for room
// when it is half empty. One by one, a job took two or ten microseconds, depending on how often
// the threads happened to sleep, whatever the allocator was.
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "core_time.hpp"
#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr unsigned kFields = 12;                   // of a job, each a block
constexpr unsigned kParts = 6;                     // of an answer
constexpr std::size_t kSmallestBody = 512;         // the last field of a job
constexpr std::size_t kLargestBody = 8192;         // and the last part of an answer
constexpr std::uint64_t kBundle = 16;              // messages
constexpr std::size_t kJobsWaiting = 16;           // bundles in the queue
constexpr std::size_t kAnswersWaiting = 128;       // more than jobs can be under way
constexpr std::size_t kMostWorkers = 100;          // so that the line above is true
constexpr std::uint64_t kAnswerMark = 0x416e7377;  // tells answers' marks from jobs'

struct Field {
  void* block;
  std::size_t size;
};

// A job or an answer: one block that names the others.
struct Message {
  Message* next;  // in its bundle
  std::uint64_t number;
  unsigned count;
  Field fields[kFields];
};

void* allocate(std::size_t size) {
  void* block = std::malloc(size);
  bench::check(block != nullptr, "malloc gave NULL");
  return block;
}

Message* make(Message* next, std::uint64_t number, unsigned count, std::uint64_t kind) {
  bench::Random random(number ^ kind);
  auto* message = static_cast<Message*>(allocate(sizeof(Message)));
  message->next = next;
  message->number = number;
  message->count = count;
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t size = i + 1 < count
                                 ? bench::skewed_size(random)
                                 : bench::doubling_size(random, kSmallestBody, kLargestBody);
    message->fields[i] = {allocate(size), size};
    bench::put_mark(message->fields[i].block, size, random.next());
  }
  return message;
}

// Reads and frees all of it. Returns a sum of its sizes and marks.
std::uint64_t take_apart(Message* message, std::uint64_t kind) {
  std::uint64_t sum = message->number ^ kind;
  for (unsigned i = 0; i < message->count; ++i) {
    const auto [block, size] = message->fields[i];
    std::uint64_t mark = 0;
    std::memcpy(&mark, block, sizeof mark);
    bench::check(bench::has_mark(block, size, mark), "a block has changed");
    sum += mark ^ size;
    std::free(block);
  }
  std::free(message);
  return sum;
}

// The sum of the same message, from the numbers alone.
std::uint64_t expected(std::uint64_t number, unsigned count, std::uint64_t kind) {
  bench::Random random(number ^ kind);
  std::uint64_t sum = number ^ kind;
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t size = i + 1 < count
                                 ? bench::skewed_size(random)
                                 : bench::doubling_size(random, kSmallestBody, kLargestBody);
    sum += random.next() ^ size;
  }
  return sum;
}

// Of bundles. Bounded, with threads that sleep on both sides.
template <std::size_t kCapacity>
class Queue {
 public:
  void put(Message* bundle) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [&] { return count_ < kCapacity; });
    ring_[(first_ + count_++) % kCapacity] = bundle;
    lock.unlock();
    not_empty_.notify_one();
  }
  // Null when the queue is closed and empty, or empty and `wait` is false.
  Message* take(bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) not_empty_.wait(lock, [&] { return count_ > 0 || closed_; });
    if (count_ == 0) return nullptr;
    Message* bundle = ring_[first_];
    first_ = (first_ + 1) % kCapacity;
    const bool half = --count_ == kCapacity / 2;
    lock.unlock();
    if (half) not_full_.notify_all();
    return bundle;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    not_empty_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::array<Message*, kCapacity> ring_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool closed_ = false;
};

class Pool {
 public:
  Pool(std::uint64_t bundles, bool collector) : count_(bundles), collector_(collector) {}

  void feed() {
    std::uint64_t freed = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      Message* jobs = nullptr;
      for (std::uint64_t k = 0; k < kBundle; ++k) jobs = make(jobs, i * kBundle + k, kFields, 0);
      jobs_.put(jobs);
      if (!collector_) freed += free_answers(false, count_);
    }
    jobs_.close();
    if (!collector_) free_answers(true, count_ - freed);
  }
  void work() {
    std::uint64_t sum = 0;
    while (Message* job = jobs_.take(true)) {
      Message* answers = nullptr;
      while (job) {
        Message* next = job->next;
        answers = make(answers, job->number, kParts, kAnswerMark);
        sum += take_apart(job, 0);
        job = next;
      }
      answers_.put(answers);
    }
    sum_.fetch_add(sum, std::memory_order_relaxed);
  }
  void collect() { free_answers(true, count_); }

  std::uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  // At most `most` bundles: all that are there, or with `wait` all that come.
  std::uint64_t free_answers(bool wait, std::uint64_t most) {
    std::uint64_t sum = 0;
    std::uint64_t freed = 0;
    while (freed < most) {
      Message* answer = answers_.take(wait);
      if (!answer) break;
      while (answer) {
        Message* next = answer->next;
        sum += take_apart(answer, kAnswerMark);
        answer = next;
      }
      ++freed;
    }
    sum_.fetch_add(sum, std::memory_order_relaxed);
    return freed;
  }

  const std::uint64_t count_;
  const bool collector_;
  Queue<kJobsWaiting> jobs_;
  Queue<kAnswersWaiting> answers_;
  std::atomic<std::uint64_t> sum_{0};
};

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t bundles = arguments.number("jobs", 20'000) / kBundle;
  const std::uint64_t jobs = bundles * kBundle;
  const bool collector = arguments.number("collector", 0) != 0;
  const unsigned workers = arguments.threads();
  if (workers > kMostWorkers) bench::leave_out("its pool has at most 100 workers");
  const unsigned threads = workers + (collector ? 2 : 1);
  Pool pool(bundles, collector);
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    if (thread == 0) {
      pool.feed();
    } else if (thread <= workers) {
      pool.work();
    } else {
      pool.collect();
    }
  });
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < jobs; ++i) {
    sum += expected(i, kFields, 0) + expected(i, kParts, kAnswerMark);
  }
  bench::check(pool.sum() == sum, "a job or an answer is lost or has changed");
  result.value = bench::core_seconds_each(result.seconds, threads, jobs) * 1e6;
  result.checksum = sum;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "worker_pool",
    .title = "A pool of workers",
    .what =
        "One thread makes jobs of 13 blocks and feeds 2 to 16 workers through a bounded queue; a "
        "worker allocates an answer of 7 blocks and frees the job, and the feeder or a collector "
        "frees the answer. The figure is core time per job: the elapsed time times the cores that "
        "the threads can use, divided by the jobs.",
    .group = "modern allocator",
    .metric = "processor time of a job",
    .unit = "us",
    .plot = "lines",
    .threads = {2, 4, 16},
    .brief_threads = {4},
    .cases = {{"", "jobs=48000", "jobs=200000", "jobs=2000000"},
              {"collector", "jobs=48000 collector=1", "jobs=200000 collector=1",
               "jobs=2000000 collector=1"}},
    .run = run,
};
