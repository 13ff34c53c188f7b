// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/spin.hpp"

#include "sched/core/width.hpp"

namespace corbel::sched {

bool Spin::once_more() {
  constexpr std::uint32_t kMaxPauses = 64;
  constexpr std::uint32_t kRoundsBetweenClocks = 8;
  const bool crowded = thread_limit() > default_width();
  // With more threads than processors, a thread that polls keeps another from working.
  if (crowded) {
    os::yield();
    return ++rounds_ < 8;
  }
  for (std::uint32_t i = 0; i < pauses_; ++i) arch::pause();
  if (pauses_ < kMaxPauses) pauses_ *= 2;
  if (++rounds_ % kRoundsBetweenClocks != 0) return true;
  const std::uint64_t now = os::now_ns();
  if (begin_ == 0) begin_ = now;
  return now - begin_ < kMaxSpin;
}

}  // namespace corbel::sched
