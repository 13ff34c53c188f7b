// SPDX-License-Identifier: Apache-2.0
#include "sched/spin.hpp"

#include "sched/pool.hpp"

namespace corbel::sched {

bool Spin::once_more() {
  constexpr std::uint32_t kMostPauses = 64;
  constexpr std::uint32_t kRoundsBetweenClocks = 8;
  const bool crowded = pool.limit() > default_width();
  // More threads than processors: who searches keeps somebody from working.
  if (crowded) {
    os::yield();
    return ++rounds_ < 8;
  }
  for (std::uint32_t i = 0; i < pauses_; ++i) arch::pause();
  if (pauses_ < kMostPauses) pauses_ *= 2;
  if (++rounds_ % kRoundsBetweenClocks != 0) return true;
  const std::uint64_t now = os::now_ns();
  if (begin_ == 0) begin_ = now;
  return now - begin_ < kLongest;
}

}  // namespace corbel::sched
