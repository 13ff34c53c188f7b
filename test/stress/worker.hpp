// SPDX-License-Identifier: Apache-2.0
// One thread's part in the stress test: it makes, resizes, checks, hands over and frees blocks at
// random, and ends the program with one line at the first byte or figure that is wrong.
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

// Places where threads leave blocks for each other.
class Mailboxes {
 public:
  static constexpr std::size_t kSlots = 256;

  // Puts `block` (which may be nullptr) into the slot and returns what was there.
  Block* exchange(std::size_t slot, Block* block) {
    // acq_rel: the bytes of both blocks go with their pointers
    return slots_[slot % kSlots].exchange(block, std::memory_order_acq_rel);
  }

 private:
  std::atomic<Block*> slots_[kSlots] = {};
};

// Which sizes and operations a worker draws.
struct Diet {
  std::size_t largest_small = 1024;    // sizes of the common part
  std::size_t largest = 8U << 20;      // and of the rare tail
  std::size_t tail_one_in = 100;       // how rare it is
  std::size_t live_limit = 32U << 20;  // bytes held per thread
  std::size_t reallocs_in_100 = 18;
  std::size_t aligned_in_100 = 10;
  bool gigantic_alignments = false;
  bool trims = false;
  bool may_be_refused = false;  // a null pointer with ENOMEM is an answer, too
};

class Worker {
 public:
  Worker(std::uint64_t seed, const Diet& diet, Mailboxes& mailboxes);
  ~Worker();  // frees, and checks, all it holds

  // Any one operation, chosen at random.
  void step();

  // A new block, by any of the functions that make one; held by nobody. nullptr when it was refused
  // and that may be.
  Block* make();
  // Checks every byte and frees; ignores nullptr, as `hold` does.
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
