// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace corbel::stress {
namespace {

const char* running_variant = "?";
std::uint64_t running_seed = 0;

std::atomic<std::uint64_t> next_number{1};

bool aligned_to(const void* p, std::size_t alignment) {
  return (reinterpret_cast<std::uintptr_t>(p) & (alignment - 1)) == 0;
}

}  // namespace

void note_run(const char* variant, std::uint64_t seed) {
  running_variant = variant;
  running_seed = seed;
}

void fail(const char* what, const Block& block, std::size_t offset) {
  // The heap may be corrupt: no stdio, and a single write, so that lines of threads do not mix.
  char line[512];
  int n =
      std::snprintf(line, sizeof line,
                    "stress: FAILED: %s: block %p size %zu asked %zu alignment %zu usable %zu "
                    "number %llu",
                    what, static_cast<void*>(block.address), block.size, block.requested,
                    block.alignment, block.usable, static_cast<unsigned long long>(block.number));
  if (offset != kAllGood) {
    n += std::snprintf(line + n, sizeof line - std::size_t(n), " offset %zu holds 0x%02x", offset,
                       block.address[offset]);
  }
  n += std::snprintf(line + n, sizeof line - std::size_t(n), " (%s, seed %llu)\n", running_variant,
                     static_cast<unsigned long long>(running_seed));
  const ssize_t written = write(STDERR_FILENO, line, std::size_t(n));
  if (std::getenv("CORBEL_STRESS_ABORT") != nullptr) std::abort();
  _exit(written == n ? 1 : 2);
}

Worker::Worker(std::uint64_t seed, const Diet& diet, Mailboxes& mailboxes)
    : functions_(allocator_under_test()), diet_(diet), mailboxes_(mailboxes), random_(seed) {}

Worker::~Worker() {
  for (Block* block : held_) finish(block);
}

std::size_t Worker::draw_size() {
  if (random_.one_in(64)) return random_.below(9);
  if (!random_.one_in(diet_.tail_one_in)) {
    const std::size_t limit = random_.one_in(2) ? 128 : diet_.largest_small;
    return 1 + random_.below(limit);
  }
  return random_.log_between(diet_.largest_small, diet_.largest);
}

std::size_t Worker::draw_alignment() {
  if (diet_.gigantic_alignments && random_.one_in(50)) return std::size_t{1} << 30;
  return std::size_t{8} << random_.below(random_.one_in(4) ? 18 : 10);
}

// Checks the allocator's answers about a fresh block, fills it, and records its size. Some blocks
// are filled to the last usable byte, which also belongs to the caller.
void Worker::settle(Block& block, std::size_t asked) {
  block.requested = asked;
  if (!aligned_to(block.address, block.alignment)) fail("alignment", block);
  block.usable = functions_.usable_size(block.address);
  block.size = asked;
  if (block.usable < asked) fail("usable size too small", block);
  if (random_.one_in(4)) block.size = block.usable;
  // relaxed: numbers only have to differ
  block.number = next_number.fetch_add(1, std::memory_order_relaxed);
  fill(block);
}

void Worker::refused(const Block& block) {
  if (errno != ENOMEM) fail("null without ENOMEM", block);
  if (!diet_.may_be_refused) fail("no memory", block);
  ++refusals_;
}

Block* Worker::make() {
  const std::size_t size = draw_size();
  const std::size_t kind = random_.below(100);
  Block fresh;
  fresh.requested = size;
  fresh.alignment = size > 8 ? 16 : 8;
  errno = 0;
  if (kind < diet_.aligned_in_100) {
    fresh.alignment = draw_alignment();
    fresh.address = static_cast<unsigned char*>(functions_.allocate_aligned(size, fresh.alignment));
  } else if (kind < 30) {
    const std::size_t count = random_.one_in(2) ? 1 : 1 + random_.below(16);
    fresh.address =
        static_cast<unsigned char*>(functions_.allocate_zeroed(count, (size + count - 1) / count));
    const std::size_t dirty = fresh.address == nullptr ? kAllGood : check_zero(fresh.address, size);
    if (dirty != kAllGood) fail("calloc not zero", fresh, dirty);
  } else {
    fresh.address = static_cast<unsigned char*>(functions_.allocate(size));
  }
  if (fresh.address == nullptr) {
    refused(fresh);
    return nullptr;
  }
  settle(fresh, size);
  return new Block(fresh);
}

void Worker::finish(Block* block) {
  if (block == nullptr) return;
  const std::size_t wrong = check(*block, block->size);
  if (wrong != kAllGood) fail("content changed", *block, wrong);
  if (functions_.usable_size(block->address) != block->usable) fail("usable size changed", *block);
  errno = E2BIG;
  functions_.deallocate(block->address);
  if (errno != E2BIG) fail("free changed errno", *block);
  delete block;
}

void Worker::resize(Block& block) {
  const std::size_t wrong = check(block, block.size);
  if (wrong != kAllGood) fail("content changed", block, wrong);
  std::size_t size = draw_size() + 1;
  // At neighbouring sizes a block stays in place, or just does not.
  if (random_.one_in(2)) size = block.size + 1 + random_.below(block.size / 2 + 16);
  if (random_.one_in(4)) size = block.size - random_.below(block.size / 4 + 1) + 1;
  if (size > diet_.largest * 2) size = diet_.largest;
  const Block old = block;
  errno = 0;
  auto* moved = static_cast<unsigned char*>(functions_.reallocate(block.address, size));
  if (moved == nullptr) {
    refused(old);
    const std::size_t changed = check(old, old.size);
    if (changed != kAllGood) fail("content changed when realloc was refused", old, changed);
    return;
  }
  block.address = moved;
  const std::size_t lost = check_moved(old, moved, old.size < size ? old.size : size);
  block.requested = size;
  block.size = size;
  if (lost != kAllGood) fail("realloc lost content", block, lost);
  block.alignment = size > 8 ? 16 : 8;
  settle(block, size);
}

void Worker::hold(Block* block) {
  if (block == nullptr) return;
  held_.push_back(block);
  held_bytes_ += block->size;
  if (held_bytes_ > diet_.live_limit) finish_some(diet_.live_limit / 2);
}

Block* Worker::take_any() {
  Block*& chosen = held_[random_.below(held_.size())];
  Block* const block = chosen;
  chosen = held_.back();
  held_.pop_back();
  held_bytes_ -= block->size;
  return block;
}

void Worker::finish_some(std::size_t keep_bytes) {
  while (held_bytes_ > keep_bytes) finish(take_any());
}

void Worker::swap_with_mailbox() {
  Block* const mine = held_.empty() ? make() : take_any();
  Block* const theirs = mailboxes_.exchange(random_.next(), mine);
  if (theirs == nullptr) return;
  if (random_.one_in(2)) {
    finish(theirs);
  } else {
    hold(theirs);
  }
}

void Worker::expect_refusal() {
  Block none;
  none.requested = SIZE_MAX - random_.below(64);
  const std::size_t too_large =
      random_.one_in(2) ? none.requested : std::size_t(PTRDIFF_MAX) + 1 + random_.below(1U << 20);
  errno = 0;
  const bool zeroed = random_.one_in(2);
  void* p = zeroed ? functions_.allocate_zeroed(too_large / 2, 4 + random_.below(64))
                   : functions_.allocate(too_large);
  if (p != nullptr) fail("impossible size served", none);
  if (errno != ENOMEM) fail("refusal without ENOMEM", none);
}

void Worker::step() {
  const std::size_t kind = random_.below(1000);
  const std::size_t resizes = diet_.reallocs_in_100 * 10;
  if (kind < 2) {
    expect_refusal();
  } else if (kind < 3 && diet_.trims && functions_.trim != nullptr) {
    functions_.trim();
  } else if (kind < 43) {
    swap_with_mailbox();
  } else if (held_.empty() || kind < 420) {
    hold(make());
  } else if (kind < 420 + resizes) {
    Block* const block = take_any();
    resize(*block);
    hold(block);
  } else if (kind < 460 + resizes) {
    const Block& block = *held_[random_.below(held_.size())];
    const std::size_t wrong = check(block, block.size);
    if (wrong != kAllGood) fail("content changed", block, wrong);
  } else {
    finish(take_any());
  }
}

}  // namespace corbel::stress
