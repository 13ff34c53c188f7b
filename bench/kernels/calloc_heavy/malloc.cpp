// SPDX-License-Identifier: Apache-2.0
// calloc of 16 bytes to 64 KiB, of which only a part is used. Pages fresh from the system are
// already zero; an allocator that knows that need not clear them.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "core_time.hpp"
#include "harness.hpp"
#include "sizes.hpp"

namespace {

constexpr unsigned kSlots = 512;
constexpr std::size_t kLargest = 65536;
constexpr std::uint64_t kWholeIn = 32;  // one block in this many is checked byte by byte
constexpr unsigned kSamples = 8;
constexpr std::size_t kPage = 4096;

struct Block {
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  unsigned char mark = 0;
};

bool all_zero(const unsigned char* bytes, std::size_t size) {
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

// An exchange and not a read followed by a write: on a fresh page each of the two would fault, and
// a program that uses its memory has only one fault.
void first_write(unsigned char& byte) {
  const unsigned char old = std::atomic_ref(byte).exchange(0, std::memory_order_relaxed);
  bench::check(old == 0, "calloc's block is not zero");
}

void write_each_used_page(const Block& block) {
  for (std::size_t at = 0; at < block.used; at += kPage) first_write(block.bytes[at]);
  first_write(block.bytes[block.used - 1]);
  first_write(block.bytes[block.size - 1]);
}

// Checks the whole used part and some bytes of the rest; for some blocks, the whole block.
void check_zero(const Block& block, bench::Random& random, bool whole) {
  bench::check(all_zero(block.bytes, whole ? block.size : block.used),
               "calloc's block is not zero");
  for (unsigned i = 0; i < kSamples && !whole; ++i) {
    const std::uint32_t at = random.below(static_cast<std::uint32_t>(block.size));
    bench::check(block.bytes[at] == 0, "calloc's block is not zero");
  }
}

void give_back(const Block& block) {
  if (!block.bytes) return;
  bench::check(block.bytes[0] == block.mark && block.bytes[block.used - 1] == block.mark &&
                   block.bytes[block.size - 1] == block.mark,
               "a block has changed");
  std::free(block.bytes);
}

std::uint64_t replace_at_random(std::vector<Block>& set, std::uint64_t seed, std::uint64_t count) {
  bench::Random random(seed);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Block& block = set[random.below(kSlots)];
    give_back(block);
    block.size = bench::doubling_size(random, 16, kLargest);
    block.used = std::max<std::size_t>(1, block.size * (1 + random.below(4)) / 8);
    block.mark = static_cast<unsigned char>(1 + random.below(255));
    block.bytes = static_cast<unsigned char*>(std::calloc(1, block.size));
    bench::check(block.bytes != nullptr, "calloc gave NULL");
    write_each_used_page(block);
    check_zero(block, random, i % kWholeIn == 0);
    std::memset(block.bytes, block.mark, block.used);
    block.bytes[block.size - 1] = block.mark;
    sum += block.size ^ block.mark;
  }
  for (const Block& block : set) give_back(block);
  return sum;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t count = arguments.number("blocks", 10'000);  // of each thread
  const unsigned threads = arguments.threads();
  std::vector<std::vector<Block>> sets(threads, std::vector<Block>(kSlots));
  std::vector<std::uint64_t> sums(threads);
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    sums[thread] = replace_at_random(sets[thread], thread + 1, count);
  });
  result.value = bench::core_seconds_each(result.seconds, threads, count * threads) * 1e9;
  for (const std::uint64_t sum : sums) result.checksum += sum;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "calloc_heavy",
    .title = "calloc, 16 bytes to 64 KiB",
    .what =
        "Each thread replaces random ones of 512 zeroed blocks, with every doubling of the size "
        "equally likely, uses an eighth to half of each and checks that they are zero. The "
        "figure is core time per block: the elapsed time times the threads (or the cores, if "
        "there are fewer), divided by all blocks.",
    .group = "modern allocator",
    .metric = "processor time of a block",
    .unit = "ns",
    .threads = {1, 2},
    .cases = {{"", "blocks=75000", "blocks=750000", "blocks=5000000"}},
    .run = run,
};
