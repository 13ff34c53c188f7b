// SPDX-License-Identifier: Apache-2.0
// Polling with back-off before a thread parks.
#pragma once

#include <cstdint>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "sched/arena/arena.hpp"

namespace corbel::sched {

// Looking at the other threads' deques takes cache lines away from their owners, so an idle thread
// polls with back-off, down to once in about 2 us. After 100 us it parks; waking it takes about
// half as long.
class Spin {
 public:
  // Pauses before the next poll. Returns false when the thread should park.
  bool once_more();
  void reset() {
    rounds_ = 0;
    pauses_ = 1;
    begin_ = 0;
  }

  // What the next search is to be; until the next call of once_more, what the last one was.
  Arena::Search search() const;
  // Makes the next search an interrupting one.
  void go_to_interruption() {
    if (rounds_ < before_interruption_) rounds_ = before_interruption_;
  }

  // Called before a found task runs, and after. end_run also resets. If the interruption of an
  // owner took longer than the task, the next one comes later.
  void begin_run() {
    if (search() == Arena::Search::kInterrupting) begin_run_ = os::now_ns();
  }
  void end_run() {
    if (begin_run_ != 0) judge_interruption();
    reset();
  }

 private:
  void judge_interruption();

  static constexpr std::uint64_t kMaxSpin = 100'000;  // ns
  // An interruption takes about 10 us on two processors, and these rounds 2 us and 40 us.
  static constexpr std::uint32_t kFewestRounds = 6, kMostRounds = 24;
  std::uint32_t rounds_ = 0;
  std::uint32_t pauses_ = 1;
  std::uint64_t begin_ = 0;
  std::uint64_t begin_run_ = 0;  // of a task for which an owner was interrupted
  std::uint32_t before_interruption_ = kFewestRounds;  // rounds
};

}  // namespace corbel::sched
