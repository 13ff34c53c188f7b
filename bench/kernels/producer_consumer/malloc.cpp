// SPDX-License-Identifier: Apache-2.0
// One thread of each pair only allocates, the other only frees. The queue between them is short, so
// few blocks are live at a time. If the process grows further, freed blocks do not return to the
// thread that could use them.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "core_time.hpp"
#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr std::uint64_t kSlots = 4096;
constexpr std::uint64_t kStep = 64;  // blocks between two reads of the other side's counter

// A ring for one producer and one consumer (Lamport, 1977). Each side owns one counter.
struct Queue {
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  alignas(64) void* blocks[kSlots];
};

void wait_until_above(const std::atomic<std::uint64_t>& counter, std::uint64_t least) {
  while (counter.load(std::memory_order_acquire) < least) std::this_thread::yield();
}

void produce(Queue& queue, std::uint64_t seed, std::uint64_t count) {
  bench::Random random(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % kStep == 0 && i + kStep > kSlots) wait_until_above(queue.read, i + kStep - kSlots);
    const std::size_t size = bench::skewed_size(random);
    void* block = std::malloc(size);
    bench::check(block != nullptr, "malloc gave NULL");
    bench::put_mark(block, size, bench::mark_of(seed + i));
    queue.blocks[i % kSlots] = block;
    if ((i + 1) % kStep == 0) queue.written.store(i + 1, std::memory_order_release);
  }
  queue.written.store(count, std::memory_order_release);
}

std::uint64_t consume(Queue& queue, std::uint64_t seed, std::uint64_t count) {
  bench::Random random(seed);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % kStep == 0) wait_until_above(queue.written, std::min(i + kStep, count));
    const std::size_t size = bench::skewed_size(random);
    void* block = queue.blocks[i % kSlots];
    bench::check(bench::has_mark(block, size, bench::mark_of(seed + i)), "a block has changed");
    std::free(block);
    bytes += size;
    if ((i + 1) % kStep == 0) queue.read.store(i + 1, std::memory_order_release);
  }
  return bytes;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t count = arguments.number("blocks", 100'000);  // of each pair
  const unsigned threads = arguments.threads();
  if (threads % 2 != 0) bench::leave_out("its threads come in pairs");
  std::vector<std::unique_ptr<Queue>> queues;
  for (unsigned i = 0; i < threads / 2; ++i) queues.push_back(std::make_unique<Queue>());
  std::atomic<std::uint64_t> bytes{0};
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    const std::uint64_t seed = (thread / 2 + 1) * 1'000'003;
    if (thread % 2 == 0) {
      produce(*queues[thread / 2], seed, count);
    } else {
      bytes.fetch_add(consume(*queues[thread / 2], seed, count), std::memory_order_relaxed);
    }
  });
  const std::uint64_t blocks = count * (threads / 2);
  result.value = bench::core_seconds_each(result.seconds, threads, blocks) * 1e9;
  result.checksum = bytes.load(std::memory_order_relaxed) + blocks;
  const double mean =
      static_cast<double>(bytes.load(std::memory_order_relaxed)) / static_cast<double>(blocks);
  result.extra["live at most MiB"] = mean * static_cast<double>(kSlots * (threads / 2)) / (1 << 20);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "producer_consumer",
    .title = "Producer and consumer",
    .what =
        "Half of the threads only allocate, the others only free the blocks they receive; at "
        "most 4,096 blocks of a pair are live, so peak memory shows whether freed blocks return "
        "to the producer. The figure is core time per block for both sides together: the elapsed "
        "time times the threads (or the cores, if there are fewer), divided by all blocks.",
    .group = "modern allocator",
    .metric = "processor time of a block",
    .unit = "ns",
    .threads = {2, 4},
    .cases = {{"", "blocks=1000000", "blocks=3000000", "blocks=20000000"}},
    .run = run,
};
