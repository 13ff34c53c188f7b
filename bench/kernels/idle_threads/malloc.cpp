// SPDX-License-Identifier: Apache-2.0
// A thousand threads that have each worked a little and now sleep: the memory that stays resident.
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <latch>
#include <semaphore>

#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr unsigned kBlocks = 200;
constexpr unsigned kLarger = 8;  // blocks of 4 to 32 KiB
constexpr unsigned kKept = 4;
// Small stacks, so that VmPeak is about the allocator; large enough for any thread-local storage.
constexpr std::size_t kStack = 256 << 10U;
// The number that work at the same time: more runnable threads would measure spin locks, not
// memory.
constexpr unsigned kAtOnce = 2;

struct Meeting {
  explicit Meeting(unsigned count) : parked(count) {}
  std::latch parked;
  std::counting_semaphore<kAtOnce> room{kAtOnce};
  std::latch go_on{1};
  std::atomic<std::uint64_t> live{0};
  std::atomic<std::uint64_t> sum{0};
};

struct Sleeper {
  Meeting* meeting;
  std::uint64_t number;
};

struct Block {
  void* address;
  std::size_t size;
  std::uint64_t mark;
};

Block take(bench::Random& random, std::size_t size) {
  const Block block{std::malloc(size), size, random.next()};
  bench::check(block.address != nullptr, "malloc gave NULL");
  auto* bytes = static_cast<unsigned char*>(block.address);
  for (std::size_t at = 0; at < size; at += 1024) bytes[at] = 1;
  bench::put_mark(block.address, size, block.mark);
  return block;
}

std::size_t give_back(const Block& block) {
  bench::check(bench::has_mark(block.address, block.size, block.mark), "a block has changed");
  std::free(block.address);
  return block.size;
}

void* work_then_sleep(void* argument) {
  const auto& [meeting, number] = *static_cast<Sleeper*>(argument);
  bench::Random random(number + 1);
  std::array<Block, kBlocks + kLarger> blocks;
  for (unsigned i = 0; i < blocks.size(); ++i) {
    blocks[i] = take(random, i < kBlocks ? bench::skewed_size(random)
                                         : bench::doubling_size(random, 4096, 32768));
  }
  std::uint64_t bytes = 0;
  for (unsigned i = kKept; i < blocks.size(); ++i) bytes += give_back(blocks[i]);
  std::uint64_t kept = 0;
  for (unsigned i = 0; i < kKept; ++i) kept += blocks[i].size;
  meeting->live.fetch_add(kept, std::memory_order_relaxed);
  meeting->room.release();
  meeting->parked.count_down();
  meeting->go_on.wait();
  for (unsigned i = 0; i < kKept; ++i) bytes += give_back(blocks[i]);
  meeting->sum.fetch_add(bytes, std::memory_order_relaxed);
  return nullptr;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const auto count = static_cast<unsigned>(arguments.number("sleepers", 50));
  Meeting meeting(count);
  std::vector<Sleeper> sleepers(count);
  std::vector<pthread_t> threads(count);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  const double before = static_cast<double>(bench::status_kib("VmRSS")) / 1024;
  const double begin = bench::now();
  for (unsigned i = 0; i < count; ++i) {
    meeting.room.acquire();
    sleepers[i] = {&meeting, i};
    const int error = pthread_create(&threads[i], &attributes, work_then_sleep, &sleepers[i]);
    bench::check(error == 0, "a thread could not be made");
  }
  meeting.parked.wait();
  result.seconds = bench::now() - begin;
  const double resident = static_cast<double>(bench::status_kib("VmRSS")) / 1024;
  const double live = static_cast<double>(meeting.live.load(std::memory_order_relaxed)) / (1 << 20);
  meeting.go_on.count_down();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  result.value = resident - live;
  result.checksum = meeting.sum.load(std::memory_order_relaxed);
  result.extra["live MiB"] = live;
  result.extra["KiB a thread"] = (resident - live - before) * 1024 / count;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "idle_threads",
    .title = "A thousand sleeping threads",
    .what =
        "A thousand threads (250 in a quick run) have each allocated 208 blocks, freed all but "
        "four and gone to sleep. The figure is the resident set without the live blocks; about "
        "10 KiB of it per thread is the stack, with any allocator.",
    .group = "modern allocator",
    .metric = "resident memory beyond the live blocks",
    .unit = "MiB",
    .cases = {{"", "sleepers=250", "sleepers=1000", "sleepers=1000"}},
    .run = run,
};
