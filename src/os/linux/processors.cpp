// SPDX-License-Identifier: Apache-2.0
// The process barrier, and the precise clock.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

enum Barrier : std::uint32_t { kUndecided, kOfProcess, kOfThread };
constinit std::atomic<std::uint32_t> barrier{kUndecided};

bool membarrier(int command) { return syscall(SYS_membarrier, command, 0U, 0) == 0; }

void fence() {
  // A read-modify-write, because the thread sanitizer does not model fences.
  static constinit std::atomic<std::uint32_t> word{0};
  // (1) seq_cst: with (1) in other threads. Of two threads that call this, either A is first, and
  // B, which reads what A wrote, sees all that precedes A's call; or B is, and A sees B's.
  word.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace

bool enable_process_barrier() {
  // relaxed: nothing else is published, and the system gives every thread the same answer
  if (barrier.load(std::memory_order_relaxed) == kUndecided) {
    ErrnoGuard guard;
    const bool can = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    // relaxed: as above
    barrier.store(can ? kOfProcess : kOfThread, std::memory_order_relaxed);
  }
  return has_process_barrier();
}

bool has_process_barrier() {
  // relaxed: the value never changes after the first call of enable_process_barrier()
  return barrier.load(std::memory_order_relaxed) == kOfProcess;
}

void process_barrier() {
  fence();
  if (!has_process_barrier()) return;
  ErrnoGuard guard;
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::uint64_t(t.tv_sec) * 1'000'000'000 + std::uint64_t(t.tv_nsec);
}

}  // namespace corbel::os
