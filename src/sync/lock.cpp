// SPDX-License-Identifier: Apache-2.0
#include "sync/lock.hpp"

#include "base/text.hpp"

namespace corbel::sync {

CORBEL_DECLARED_THREAD_VARIABLE(std::uint32_t, held_ranks) = 0;
CORBEL_DECLARED_THREAD_VARIABLE(unsigned, forks_of_thread) = 0;
CORBEL_DECLARED_THREAD_VARIABLE(std::uint32_t, number_of_thread) = 0;

std::uint32_t MutexSystem::new_self() {
  static constinit std::atomic<std::uint32_t> last{0};
  // relaxed: only the number matters. A signal handler that comes here at the same time takes a
  // number, too; this thread holds no lock then, so it does not matter which one stays.
  std::uint32_t number = 0;
  while (number == 0) number = (last.fetch_add(1, std::memory_order_relaxed) + 1) & 0x7fffffff;
  number_of_thread = number;
  return number;
}

namespace {

constexpr int kTries = 100;

}  // namespace

bool Lock::try_lock_in_handler() {
  for (int i = 0; i < kTries && !mutex_.is_held_by_self(); ++i) {
    if (try_lock()) return true;
    os::yield();
  }
  return false;
}

bool Lock::try_lock_for_fork() {
  for (int i = 0; i < kTries; ++i) {
    if (mutex_.try_lock()) {
      hold_for_fork(Held::kTaken);
      note_taken();
      return true;
    }
    os::yield();
  }
  return false;
}

void Lock::lock_contended() {
  mutex_.lock_contended();
  note_taken();
}

void Lock::check_rank() const {
  if ((held_ranks >> rank_) == 0) return;
  Text<128> line;
  line.add("corbel: internal error: lock of rank ").add_decimal(std::uint64_t(rank_));
  line.add(" taken out of order\n");
  os::write_error(line.data(), line.size());
  os::abort();
}

}  // namespace corbel::sync
