// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/spin.hpp"

#include "sched/core/width.hpp"

namespace corbel::sched {

namespace {

// With more threads than processors, a thread that polls keeps another from working.
bool is_crowded() { return thread_limit() > default_width(); }

}  // namespace

Arena::Search Spin::search() const {
  if (rounds_ == 0) return Arena::Search::kQuick;
  return rounds_ < before_interruption_ && !is_crowded() ? Arena::Search::kCareful
                                                         : Arena::Search::kInterrupting;
}

void Spin::judge_interruption() {
  constexpr std::uint64_t kWorthwhile = 2000;  // ns
  const bool paid = os::now_ns() - begin_run_ >= kWorthwhile;
  before_interruption_ = paid ? kFewestRounds : kMostRounds;
  begin_run_ = 0;
}

bool Spin::once_more() {
  constexpr std::uint32_t kMaxPauses = 64;
  constexpr std::uint32_t kRoundsBetweenClocks = 8;
  if (is_crowded()) {
    os::yield();
    return ++rounds_ < 8;
  }
  for (std::uint32_t i = 0; i < pauses_; ++i) arch::pause();
  if (pauses_ < kMaxPauses) pauses_ *= 2;
  if (++rounds_ % kRoundsBetweenClocks != 0) return true;
  const std::uint64_t now = os::now_ns();
  if (begin_ == 0) begin_ = now;
  // Not before an owner has been interrupted: its tasks may be out of reach otherwise.
  return now - begin_ < kMaxSpin || rounds_ <= before_interruption_;
}

}  // namespace corbel::sched
