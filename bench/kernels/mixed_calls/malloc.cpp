// SPDX-License-Identifier: Apache-2.0
// All calls of malloc's family on sizes up to 128 KiB, in random order, as allocators' own stress
// tests do, among them that of rpmalloc; the program is our own. Every thread keeps a set of
// blocks and replaces a random one by malloc, calloc or aligned_alloc, or resizes it by realloc.
// A quarter of the blocks that it gives up go to places that all threads share; it frees what lay
// there, a block of any thread.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "core_time.hpp"
#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr std::size_t kSmallest = 16;
constexpr std::size_t kLargest = 128 * 1024;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPlaces = 256;
constexpr std::size_t kLongestZeros = 512;  // of a calloc block, that are looked at

// The first bytes of a block.
struct Block {
  std::uint64_t number;
  std::uint32_t size;
};

unsigned char* bytes_of(Block* block) { return reinterpret_cast<unsigned char*>(block); }

struct Draw {
  bool even;  // else each doubling of the size is as likely
  std::size_t operator()(bench::Random& random) const {
    return even ? kSmallest + random.below(kLargest - kSmallest)
                : bench::doubling_size(random, kSmallest, kLargest);
  }
};

// Also one byte of each page, as a program that uses the block would.
Block* fill(void* memory, std::size_t size, std::uint64_t number) {
  bench::check(memory != nullptr, "a block is NULL");
  auto* block = static_cast<Block*>(memory);
  const auto byte = static_cast<unsigned char>(number);
  *block = {number, static_cast<std::uint32_t>(size)};
  for (std::size_t at = kPage; at < size - 1; at += kPage) bytes_of(block)[at] = byte;
  bytes_of(block)[size - 1] = size > sizeof(Block) ? byte : bytes_of(block)[size - 1];
  return block;
}

void check_bytes(Block* block, std::size_t size) {
  const auto byte = static_cast<unsigned char>(block->number);
  for (std::size_t at = kPage; at < size; at += kPage) {
    bench::check(bytes_of(block)[at] == byte, "a byte of a block has changed");
  }
}

std::uint64_t give_back(Block* block) {
  const std::uint32_t size = block->size;
  const std::uint64_t number = block->number;
  bench::check(size >= kSmallest && size <= kLargest, "the first bytes of a block have changed");
  check_bytes(block, size - 1);
  bench::check(
      size <= sizeof(Block) || bytes_of(block)[size - 1] == static_cast<unsigned char>(number),
      "the last byte of a block has changed");
  std::free(block);
  return bench::mark_of(number) ^ size;
}

void* zeroed(std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(std::calloc(1, size));
  bench::check(bytes != nullptr, "calloc gave NULL");
  unsigned char all = bytes[size - 1];
  for (std::size_t i = 0; i < size && i < kLongestZeros; ++i) all |= bytes[i];
  bench::check(all == 0, "a block of calloc is not zero");
  return bytes;
}

void* aligned(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  bench::check(posix_memalign(&memory, alignment, size) == 0, "posix_memalign failed");
  bench::check(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0, "a wrong alignment");
  return memory;
}

Block* make(bench::Random& random, const Draw& draw, std::uint64_t number) {
  const std::size_t size = draw(random);
  const std::uint32_t call = random.below(8);
  if (call < 4) return fill(std::malloc(size), size, number);
  if (call < 6) return fill(zeroed(size), size, number);
  return fill(aligned(size, std::size_t{16} << random.below(9)), size, number);  // to 4,096
}

Block* resize(bench::Random& random, const Draw& draw, Block* block) {
  const std::uint32_t old = block->size;
  const std::uint64_t number = block->number;
  const std::size_t size = draw(random);
  auto* moved = static_cast<Block*>(std::realloc(static_cast<void*>(block), size));
  bench::check(moved != nullptr, "realloc gave NULL");
  bench::check(moved->number == number && moved->size == old, "realloc lost the first bytes");
  check_bytes(moved, std::min<std::size_t>(old - 1, size));
  return fill(moved, size, number);
}

using Places = std::array<std::atomic<Block*>, kPlaces>;

struct Work {
  std::uint64_t first;  // number of its blocks
  std::uint64_t calls;
  std::uint32_t blocks;
  Draw draw;
};

std::uint64_t live(const Work& work, Places& places) {
  bench::Random random(work.first + 1);
  std::uint64_t number = work.first;
  std::uint64_t sum = 0;
  std::vector<Block*> set(work.blocks);
  for (Block*& block : set) block = make(random, work.draw, number++);
  for (std::uint64_t i = 0; i < work.calls; ++i) {
    Block*& block = set[random.below(work.blocks)];
    const std::uint32_t what = random.below(8);
    if (what < 2) {
      block = resize(random, work.draw, block);
      continue;
    }
    if (what < 4) {
      // Release and acquire: the thread that takes the block out sees its bytes.
      std::atomic<Block*>& place = places[random.below(kPlaces)];
      block = place.exchange(block, std::memory_order_acq_rel);
    }
    if (block) sum += give_back(block);
    block = make(random, work.draw, number++);
  }
  for (Block* block : set) sum += give_back(block);
  return sum;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const unsigned threads = arguments.threads();
  const std::uint64_t each = arguments.number("calls", 100'000) / threads;
  const auto blocks = static_cast<std::uint32_t>(arguments.number("blocks", 1000) / threads);
  const Draw draw{arguments.number("even", 0) != 0};
  bench::check(blocks > 0, "blocks= is less than a block for each thread");
  Places places{};
  std::atomic<std::uint64_t> sum{0};
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    const std::uint64_t first = std::uint64_t{thread} << 40U;
    sum.fetch_add(live({first, each, blocks, draw}, places), std::memory_order_relaxed);
  });
  for (std::atomic<Block*>& place : places) {
    if (Block* block = place.load(std::memory_order_relaxed)) sum += give_back(block);
  }
  result.value = bench::core_seconds_each(result.seconds, threads, each * threads) * 1e9;
  result.checksum = sum.load(std::memory_order_relaxed);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "mixed_calls",
    .title = "All calls, up to 128 KiB",
    .what =
        "The threads share 1,000 blocks (or 300 larger ones) of up to 128 KiB and replace or "
        "resize random ones with malloc, calloc, posix_memalign and realloc; a quarter of those "
        "given up are freed by any thread. The figure is core time per call: the elapsed time "
        "times the threads (or the cores, if there are fewer), divided by the calls.",
    .group = "modern allocator",
    .metric = "processor time of a call",
    .unit = "ns",
    .plot = "lines",
    .threads = {1, 2, 4},
    .brief_threads = {1, 4},
    .cases = {{"doublings", "calls=100000", "calls=600000", "calls=6000000"},
              {"even", "calls=30000 blocks=300 even=1", "calls=200000 blocks=300 even=1",
               "calls=2000000 blocks=300 even=1"}},
    .run = run,
};
