// SPDX-License-Identifier: Apache-2.0
// One thread's part of the stress test: it allocates, resizes, checks, passes on and frees blocks
// at random. At the first wrong byte or figure it ends the program with one line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "block.hpp"
#include "random.hpp"
#include "under_test.hpp"

namespace corbel::stress {

// Prints "stress: FAILED: <what>" with the block and the seed, and ends the program.
[[noreturn]] void fail(const char* what, const Block& block, std::size_t offset = kAllGood);

// For the line that `fail` prints.
void note_run(const char* variant, std::uint64_t seed);

// Slots through which threads pass blocks to each other.
class Mailboxes {
 public:
  static constexpr std::size_t kSlots = 256;

  // Puts `block` (which may be nullptr) into the slot and returns what was there.
  Block* exchange(std::size_t slot, Block* block) {
    // acq_rel: passes the bytes of both blocks with their pointers
    return slots_[slot % kSlots].exchange(block, std::memory_order_acq_rel);
  }

 private:
  std::atomic<Block*> slots_[kSlots] = {};
};

// The sizes and operations that a worker draws.
struct Diet {
  std::size_t largest_small = 1024;    // of the common sizes
  std::size_t largest = 8U << 20;      // of the rare large sizes
  std::size_t tail_one_in = 100;       // how rare those are
  std::size_t live_limit = 32U << 20;  // bytes held per thread
  std::size_t reallocs_in_100 = 18;
  std::size_t aligned_in_100 = 10;
  bool gigantic_alignments = false;
  bool trims = false;
  bool may_be_refused = false;  // a null pointer with ENOMEM is a valid answer
};

class Worker {
 public:
  Worker(std::uint64_t seed, const Diet& diet, Mailboxes& mailboxes);
  ~Worker();  // checks and frees all its blocks

  // Runs one operation, chosen at random.
  void step();

  // Makes a block with any of the allocating functions. The worker does not keep it. nullptr if the
  // request was refused and may be.
  Block* make();
  // Checks every byte and frees the block. Ignores nullptr, like `hold`.
  void finish(Block* block);

  void hold(Block* block);
  void resize(Block& block);
  void swap_with_mailbox();
  void finish_some(std::size_t keep_bytes);
  std::size_t held_count() const { return held_.size(); }
  std::size_t refusals() const { return refusals_; }
  Random& random() { return random_; }

 private:
  std::size_t draw_size();
  std::size_t draw_alignment();
  void settle(Block& block, std::size_t asked);
  void expect_refusal();
  void refused(const Block& block);
  Block* take_any();

  const AllocatorUnderTest functions_;
  const Diet diet_;
  Mailboxes& mailboxes_;
  Random random_;
  std::vector<Block*> held_;
  std::size_t held_bytes_ = 0;
  std::size_t refusals_ = 0;
};

}  // namespace corbel::stress
