// SPDX-License-Identifier: Apache-2.0
// The variants in which large blocks of growing sizes are allocated and freed under a limit, so
// that freed memory never fits the next request, and all threads give memory back at the same time.
// Hardly any byte is written: the targets are the lists of free memory and the footprint.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "run.hpp"

namespace corbel::stress {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// The address ranges of all threads' blocks. Committing the page of a mark takes longer than all
// that the allocator does, so there are few marks, and this table finds the overlaps that they
// miss. It has no lock, which would keep the threads out of each other's way.
class Ranges {
 public:
  static constexpr std::size_t kSlots = 1024;

  // seq_cst, like the loads: of two overlapping blocks one is published first, and the other
  // block's thread sees it.
  void add(std::size_t slot, const Block& block) {
    const std::uint64_t mine = word_of(block);
    words_[slot].store(mine, std::memory_order_seq_cst);
    for (std::size_t i = 0; i < used_; ++i) {
      const std::uint64_t other = words_[i].load(std::memory_order_seq_cst);
      if (i != slot && begin_of(mine) < end_of(other) && begin_of(other) < end_of(mine)) {
        fail("overlap", block);
      }
    }
  }

  // Called before the block is freed. seq_cst: like add; the allocator orders the two when it
  // passes the memory to another thread.
  void remove(std::size_t slot) { words_[slot].store(0, std::memory_order_seq_cst); }

  explicit Ranges(std::size_t used) : used_(used) {
    if (used > kSlots) fail("too many threads", Block{});
  }

 private:
  static constexpr unsigned kPageBits = 12;
  static constexpr unsigned kCountBits = 28;

  // The first page and the number of pages, or 0 for a block that shares its pages with others.
  static std::uint64_t word_of(const Block& block) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block.address);
    if (begin % (1U << kPageBits) != 0) return 0;
    return (begin >> kPageBits << kCountBits) | (block.size >> kPageBits);
  }
  static std::uint64_t begin_of(std::uint64_t word) { return word >> kCountBits; }
  static std::uint64_t end_of(std::uint64_t word) {
    return begin_of(word) + (word & ((std::uint64_t{1} << kCountBits) - 1));
  }

  const std::size_t used_;
  std::atomic<std::uint64_t> words_[kSlots]{};
};

// What one block in 32 holds at both ends and at one place between them.
using Mark = std::uint64_t;

// Calls `work(place, mark)` for each mark.
template <class Work>
void at_marks(const Block& block, Work work) {
  if (mix(block.number) % 32 != 0) return;
  const std::size_t last = block.size - sizeof(Mark);
  // Does not overlap the others.
  const std::size_t between = (1 + mix(block.number) % (last / sizeof(Mark) - 1)) * sizeof(Mark);
  for (const std::size_t offset : {std::size_t{0}, between, last}) {
    work(block.address + offset, mix(pattern_key(block) ^ offset));
  }
}

class Grower {
 public:
  Grower(std::uint64_t seed, std::size_t thread, Ranges& ranges, bool may_be_refused)
      : functions_(allocator_under_test()),
        ranges_(ranges),
        random_(seed),
        first_slot_(thread * kBlocks),
        number_(thread << 32),
        may_be_refused_(may_be_refused) {}

  // All blocks have one size of a growing sequence at a time. When all are freed, `limit(random,
  // size)` may set another limit.
  template <class Limit>
  void grow(std::size_t most, std::size_t step, Run& run, Limit limit) {
    for (std::size_t size = step; size <= most && !run.over(); size += step) {
      for (Block& block : blocks_) take(block, size - random_.below(64));
      if (random_.one_in(64)) {
        for (Block& block : blocks_) resize(block, size + random_.below(size));
      }
      for (Block& block : blocks_) release(block);
      limit(random_, size);
      count(run, kBlocks);
    }
  }

  static constexpr std::size_t kBlocks = 10;

  std::size_t refusals() const { return refusals_; }

 private:
  std::size_t slot_of(const Block& block) const {
    return first_slot_ + std::size_t(&block - blocks_);
  }

  void take(Block& block, std::size_t size) {
    block.requested = size;
    block.alignment = random_.one_in(32) ? std::size_t{1} << (12 + random_.below(9)) : 16;
    errno = 0;
    void* fresh = block.alignment == 16 ? functions_.allocate(size)
                                        : functions_.allocate_aligned(size, block.alignment);
    block.address = static_cast<unsigned char*>(fresh);
    if (fresh == nullptr) return refused(block);
    settle(block, size);
  }

  void resize(Block& block, std::size_t size) {
    if (block.address == nullptr) return;
    check(block, block.address);
    ranges_.remove(slot_of(block));
    errno = 0;
    void* moved = functions_.reallocate(block.address, size);
    if (moved == nullptr) {
      refused(block);
      return ranges_.add(slot_of(block), block);
    }
    check(block, static_cast<unsigned char*>(moved));
    block.address = static_cast<unsigned char*>(moved);
    settle(block, size);
  }

  void release(Block& block) {
    if (block.address == nullptr) return;
    check(block, block.address);
    ranges_.remove(slot_of(block));
    functions_.deallocate(block.address);
    block.address = nullptr;
  }

  void settle(Block& block, std::size_t size) {
    block.size = size;
    block.number = ++number_;
    ranges_.add(slot_of(block), block);
    at_marks(block,
             [](unsigned char* place, Mark mark) { std::memcpy(place, &mark, sizeof mark); });
  }

  // The block may have moved.
  static void check(const Block& block, const unsigned char* address) {
    at_marks(block, [&](const unsigned char* place, Mark mark) {
      const std::size_t offset = std::size_t(place - block.address);
      if (std::memcmp(address + offset, &mark, sizeof mark) == 0) return;
      Block there = block;
      there.address = const_cast<unsigned char*>(address);
      fail("a mark of a large block changed", there, offset);
    });
  }

  void refused(const Block& block) {
    if (errno != ENOMEM) fail("null without ENOMEM", block);
    if (!may_be_refused_) fail("no memory", block);
    ++refusals_;
  }

  const AllocatorUnderTest functions_;
  Ranges& ranges_;
  Random random_;
  Block blocks_[kBlocks]{};
  const std::size_t first_slot_;
  std::uint64_t number_;
  const bool may_be_refused_;
  std::size_t refusals_ = 0;
};

// All threads run sequences of sizes at the same time, under limits that `limit` draws and sets.
template <class Limit>
void grow_under(Run& run, bool may_be_refused, Limit limit) {
  const AllocatorUnderTest functions = allocator_under_test();
  Random random(mix(run.seed));
  Ranges ranges(run.threads * Grower::kBlocks);
  std::atomic<std::size_t> refusals{0};
  do {
    const std::size_t most = kMiB << (random.one_in(32) ? 5 : random.below(2));
    const std::size_t steps = 128 + random.below(128);
    limit(functions, random, most * Grower::kBlocks * run.threads);
    const std::uint64_t seed = random.next();
    in_threads(run.threads, [&](std::size_t i) {
      Grower grower(mix(seed + i), i, ranges, may_be_refused);
      grower.grow(most, most / steps, run, [&](Random& own, std::size_t size) {
        limit(functions, own, size * Grower::kBlocks * run.threads);
      });
      // relaxed: a figure for the report
      refusals.fetch_add(grower.refusals(), std::memory_order_relaxed);
    });
  } while (!run.over());
  functions.set_soft_limit(0);
  functions.set_hard_limit(0);
  functions.trim();
  // relaxed: all threads are joined
  std::printf("stress: %zu requests refused\n", refusals.load(std::memory_order_relaxed));
  check_footprint_is_back(functions);
}

}  // namespace

// Soft limits below the live bytes at the end.
void run_growing_above(Run& run) {
  grow_under(run, false, [](const AllocatorUnderTest& functions, Random& random, std::size_t live) {
    functions.set_soft_limit(live / (2 + random.below(16)));
  });
}

// Soft limits that leave little room for free memory.
void run_growing_below(Run& run) {
  grow_under(run, false, [](const AllocatorUnderTest& functions, Random& random, std::size_t live) {
    functions.set_soft_limit(live / 8 + random.below(live));
  });
}

void run_growing_hard(Run& run) {
  grow_under(run, true, [](const AllocatorUnderTest& functions, Random& random, std::size_t live) {
    functions.set_hard_limit(live / 4 + random.below(live));
    functions.set_soft_limit(random.one_in(2) ? live / (2 + random.below(4)) : 0);
  });
}

}  // namespace corbel::stress
