// SPDX-License-Identifier: Apache-2.0
#include <corbel/detail/group_count.hpp>

namespace corbel::detail {

void group_count::release_watched(worker& w) noexcept {
  // relaxed: who sees the sum change sees this, too
  inside_.fetch_add(1, std::memory_order_relaxed);
  // seq_cst: either this change is before another release's look, or that one's change is before
  // this one's look; release besides, as (1) and (2)
  if (is_own(w)) {
    // relaxed: its own
    own_.store(own_.load(std::memory_order_relaxed) - 1, std::memory_order_seq_cst);
  } else {
    foreign_.fetch_add(kReleased, std::memory_order_seq_cst);
  }
  const std::uint32_t foreign = std::uint32_t(foreign_.load(std::memory_order_seq_cst));
  const bool zero = own_.load(std::memory_order_seq_cst) + foreign == 0;
  const void* const key = this;
  inside_.fetch_sub(1, std::memory_order_release);  // (4) release: the looks, with is_done
  if (zero) notify(key);
}

}  // namespace corbel::detail
