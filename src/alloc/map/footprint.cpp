// SPDX-License-Identifier: Apache-2.0
#include "alloc/map/footprint.hpp"

#include "alloc/map/policy_hooks.hpp"

namespace corbel::alloc {

constinit Footprint footprint;

void Footprint::release(std::size_t bytes) {
  if (bytes == 0) return;
  // Only a release updates the peak: until the count falls, the current count is the peak, and
  // peak() takes the larger of the two.
  // relaxed throughout: see footprint.hpp
  const std::size_t before = bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (before > peak && !peak_.compare_exchange_weak(peak, before, std::memory_order_relaxed,
                                                       std::memory_order_relaxed)) {
  }
  if (before > watched_.load(std::memory_order_relaxed)) memory_fell(before, before - bytes);
}

std::size_t Footprint::peak() const {
  const std::size_t now = bytes();
  const std::size_t peak = peak_.load(std::memory_order_relaxed);  // relaxed: see footprint.hpp
  return now > peak ? now : peak;
}

}  // namespace corbel::alloc
