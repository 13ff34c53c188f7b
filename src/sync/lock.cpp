// SPDX-License-Identifier: Apache-2.0
#include "sync/lock.hpp"

#include "base/text.hpp"

namespace corbel::sync {

thread_local constinit std::uint32_t Lock::held_ranks_ = 0;
thread_local constinit unsigned Lock::held_in_fork_ = 0;

void Lock::lock_contended() {
  mutex_.lock_contended();
  note_taken();
}

void Lock::check_rank() const {
  if ((held_ranks_ >> rank_) == 0) return;
  Text<128> line;
  line.add("corbel: internal error: lock of rank ").add_decimal(std::uint64_t(rank_));
  line.add(" taken out of order\n");
  os::write_error(line.data(), line.size());
  os::abort();
}

}  // namespace corbel::sync
