// SPDX-License-Identifier: Apache-2.0
// An asymmetric exchange: half of the threads make three batches for each one they free, and the
// other half free three for each one they make. The idea is that of Lever and Boreham, "malloc()
// performance in a multithreaded Linux environment" (USENIX 2000), known as xmalloc-test; the
// program is our own.
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core_time.hpp"
#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr std::size_t kBatch = 64;

// A batch is a chain of blocks. Its first block says how it was drawn.
struct Block {
  Block* next;
  std::uint32_t size;
  std::uint32_t number;
};

// The batches between the threads: bounded, so that the fast makers wait for the slow ones.
class Pool {
 public:
  bool put(Block* batch) {
    const std::lock_guard lock(mutex_);
    if (count_ == batches_.size()) return false;
    batches_[count_++] = batch;
    return true;
  }
  Block* take() {
    const std::lock_guard lock(mutex_);
    return count_ ? batches_[--count_] : nullptr;
  }

 private:
  std::mutex mutex_;
  std::array<Block*, 256> batches_{};
  std::size_t count_ = 0;
};

Block* make_batch(bench::Random& random, std::uint32_t number) {
  Block* chain = nullptr;
  for (std::size_t i = 0; i < kBatch; ++i) {
    const std::size_t size = sizeof(Block) + bench::skewed_size(random);
    auto* block = static_cast<Block*>(std::malloc(size));
    bench::check(block != nullptr, "malloc gave NULL");
    *block = {chain, static_cast<std::uint32_t>(size), number};
    reinterpret_cast<unsigned char*>(block)[size - 1] = static_cast<unsigned char>(number);
    chain = block;
  }
  return chain;
}

// The sum of the numbers that the batch was drawn from.
std::uint64_t free_batch(Block* chain) {
  const std::uint32_t number = chain->number;
  std::uint64_t sum = 0;
  std::size_t blocks = 0;
  while (chain) {
    bench::check(blocks < kBatch, "a batch has too many blocks");
    Block* next = chain->next;
    const std::uint32_t size = chain->size;
    bench::check(chain->number == number && size <= 2048, "a block is not of this batch");
    bench::check(
        reinterpret_cast<unsigned char*>(chain)[size - 1] == static_cast<unsigned char>(number),
        "a block has changed");
    sum += bench::mark_of(number) ^ size;
    std::free(chain);
    chain = next;
    ++blocks;
  }
  bench::check(blocks == kBatch, "a batch is not complete");
  return sum;
}

// One thread's part: the numbers of batches to make and to free, in its own rhythm if the pool
// allows.
class Worker {
 public:
  Worker(Pool& pool, unsigned thread, std::uint64_t makes, std::uint64_t frees)
      : pool_(pool), random_(thread + 1), first_(thread << 24U), makes_(makes), frees_(frees) {}

  std::uint64_t run(bool maker) {
    for (unsigned turn = 0; makes_ + frees_ > 0; ++turn) {
      const bool make_first = (turn % 4 != 0) == maker;
      if (make_first ? make() || free() : free() || make()) continue;
      std::this_thread::yield();
    }
    return sum_;
  }

 private:
  bool make() {
    if (!waiting_ && makes_ == 0) return false;
    if (!waiting_) waiting_ = make_batch(random_, first_ + static_cast<std::uint32_t>(makes_));
    if (!pool_.put(waiting_)) return false;
    waiting_ = nullptr;
    --makes_;
    return true;
  }
  bool free() {
    if (frees_ == 0) return false;
    Block* batch = pool_.take();
    if (!batch) return false;
    sum_ += free_batch(batch);
    --frees_;
    return true;
  }

  Pool& pool_;
  bench::Random random_;
  std::uint32_t first_;
  std::uint64_t makes_;
  std::uint64_t frees_;
  Block* waiting_ = nullptr;
  std::uint64_t sum_ = 0;
};

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t rounds = arguments.number("rounds", 100);  // the total, shared by the pairs
  const unsigned threads = arguments.threads();
  if (threads % 2 != 0) bench::leave_out("its threads come in pairs");
  const std::uint64_t each = rounds * 2 / threads;
  Pool pool;
  std::atomic<std::uint64_t> sum{0};
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    const bool maker = thread % 2 == 0;
    Worker worker(pool, thread, maker ? 3 * each : each, maker ? each : 3 * each);
    sum.fetch_add(worker.run(maker), std::memory_order_relaxed);
  });
  bench::check(pool.take() == nullptr, "a batch is left");
  const std::uint64_t blocks = each * (threads / 2) * 4 * kBatch;
  result.value = bench::core_seconds_each(result.seconds, threads, blocks) * 1e9;
  result.checksum = sum.load(std::memory_order_relaxed);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "exchange",
    .title = "Asymmetric exchange",
    .what =
        "Half of the threads allocate three batches of 64 blocks for each one they free, the "
        "others do the reverse, all through one bounded pool, so most frees are remote. The "
        "figure is core time per block: the elapsed time times the threads (or the cores, if "
        "there are fewer), divided by all blocks.",
    .group = "modern allocator",
    .metric = "processor time of a block",
    .unit = "ns",
    .plot = "lines",
    .threads = {2, 4, 8},
    .cases = {{"", "rounds=4000", "rounds=30000", "rounds=250000"}},
    .run = run,
};
