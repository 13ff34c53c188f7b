// SPDX-License-Identifier: Apache-2.0
// The barrier that all threads of the process pass, and a clock.
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
  // A fence that thread sanitizers understand, too.
  static constinit std::atomic<std::uint32_t> word{0};
  word.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: that is all it is for
}

}  // namespace

bool enable_process_barrier() {
  // relaxed: the answer is the same whoever asks
  if (barrier.load(std::memory_order_relaxed) == kUndecided) {
    ErrnoGuard guard;
    const bool can = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    barrier.store(can ? kOfProcess : kOfThread, std::memory_order_relaxed);  // relaxed: as above
  }
  return has_process_barrier();
}

bool has_process_barrier() {
  return barrier.load(std::memory_order_relaxed) == kOfProcess;  // relaxed: as above
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
