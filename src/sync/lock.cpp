// SPDX-License-Identifier: Apache-2.0
#include "sync/lock.hpp"

#include "base/text.hpp"

namespace corbel::sync {

thread_local constinit std::uint32_t Lock::held_ranks_ = 0;

void Lock::lock_contended() {
  // The sections are tens of instructions long: on many cores a short spin beats a sleep.
  for (int i = 0; i < 64; ++i) {
    arch::pause();
    if (try_lock()) return;
  }
  // From here on the word says "waited for", so that the holder wakes us: either our exchange
  // comes first and its unlock sees it, or its unlock does and the exchange finds the lock free.
  // (3) acquire, with (2)
  while (word_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) {
    os::wait(word_, kWaitedFor);
  }
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
