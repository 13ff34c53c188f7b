// SPDX-License-Identifier: Apache-2.0
// The process barrier, and the precise clock.
//
// A sandbox that the program enters later may forbid membarrier(2). By then all threads count on
// the barrier: they have left out the fences that it replaces. So the barrier has a second way,
// which costs milliseconds: the calling thread runs on every processor in turn, by changing its own
// affinity, and restores the affinity.
//
// Why that is a barrier: the kernel executes a full fence whenever a processor switches from one
// thread to another. Every other thread of the process passes such a switch during the call, or
// does not run during the call:
//   - If it runs on the processor where the caller arrives, it is switched out for the caller.
//   - If it runs elsewhere when the caller arrives there, it has come there by a switch.
//   - If it does not run, it was switched out before the call and is switched in after it.
// The locks of the run queues, which every switch takes, order the caller's accesses before and
// after its visit with those of the thread that it replaced.
//
// The caller reaches every processor that its cpuset allows, whatever its affinity was, and the
// threads of a process are in one cpuset (except in a "threaded" control group with cpusets of its
// own, where a process should not enter such a sandbox). It needs no help from the other threads
// and disturbs none. The ways that interrupt them are no way out: an munmap or mprotect interrupts
// the other processors on some machines only (arm64 and newer x86 processors invalidate their
// TLBs without), and a signal would need a handler in the program's threads.
//
// If the sandbox forbids this, too, nothing is left that is sound, and the process ends with a
// line.
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

enum Barrier : std::uint32_t { kUndecided, kOfProcess, kByVisits, kOfThread };
constinit std::atomic<std::uint32_t> barrier{kUndecided};

bool membarrier(int command) { return syscall(SYS_membarrier, command, 0U, 0) == 0; }

void fence() {
  // A read-modify-write, because the thread sanitizer does not model fences.
  static constinit std::atomic<std::uint32_t> word{0};
  // (1) seq_cst: with (1) in other threads. Of two threads that call this, either A is first, and
  // B, which reads what A wrote, sees all that precedes A's call; or B is, and A sees B's.
  word.fetch_add(1, std::memory_order_seq_cst);
}

[[noreturn]] void end_without_barrier() {
  constexpr char kLine[] =
      "corbel: the process has forbidden itself both membarrier and sched_setaffinity while "
      "threads "
      "rely on them; a sandbox must allow one of the two\n";
  write_error(kLine, sizeof kLine - 1);
  abort();
}

// Runs on every processor that the process may use; see above.
void visit_processors() {
  ProcessorSet before{};
  const long size = syscall(SYS_sched_getaffinity, 0, sizeof before.words, before.words);
  if (size <= 0) end_without_barrier();
  unsigned visited = 0;
  for (unsigned p = 0; p < unsigned(size) * 8; ++p) {
    ProcessorSet one{};
    one.add(p);
    // EINVAL: there is no such processor, or the cpuset does not contain it.
    if (syscall(SYS_sched_setaffinity, 0, size, one.words) == 0) ++visited;
  }
  if (visited == 0) end_without_barrier();
  syscall(SYS_sched_setaffinity, 0, size, before.words);
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
  // relaxed: the answer never changes after the first call of enable_process_barrier()
  const std::uint32_t now = barrier.load(std::memory_order_relaxed);
  return now == kOfProcess || now == kByVisits;
}

void process_barrier() {
  fence();
  if (!has_process_barrier()) return;
  ErrnoGuard guard;
  // relaxed: a thread that does not know of a refusal yet meets it itself
  if (barrier.load(std::memory_order_relaxed) == kOfProcess) {
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
    // Out of memory, the kernel may refuse a single call. Any other error lasts.
    if (errno != ENOMEM) barrier.store(kByVisits, std::memory_order_relaxed);  // relaxed: as above
  }
  visit_processors();
  fence();
}

}  // namespace corbel::os
