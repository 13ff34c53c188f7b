// SPDX-License-Identifier: Apache-2.0
#include "alloc/footprint.hpp"

#include "alloc/heap_limit.hpp"

namespace corbel::alloc {

constinit Footprint footprint;

void Footprint::release(std::size_t bytes) {
  if (bytes == 0) return;
  // The greatest count is followed by a release or is the present one: growing need not look.
  // relaxed throughout: see footprint.hpp
  const std::size_t before = bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (before > peak && !peak_.compare_exchange_weak(peak, before, std::memory_order_relaxed,
                                                       std::memory_order_relaxed)) {
  }
  if (before > watched_.load(std::memory_order_relaxed)) heap_limit.fell(before, before - bytes);
}

std::size_t Footprint::peak() const {
  const std::size_t now = bytes();
  const std::size_t peak = peak_.load(std::memory_order_relaxed);  // relaxed: see footprint.hpp
  return now > peak ? now : peak;
}

}  // namespace corbel::alloc
