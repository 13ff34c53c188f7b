// SPDX-License-Identifier: Apache-2.0
// The set-up of the process, and the fork handlers.
#include <iterator>

#include "alloc/heap/orphans.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/policy/container_limit.hpp"
#include "alloc/policy/environment.hpp"
#include "alloc/policy/heap_limit.hpp"
#include "alloc/policy/helper.hpp"
#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

static_assert(kQuarantineLocks == 4);

constinit std::atomic<bool> process_is_set_up{false};

// ---- fork ---------------------------------------------------------------------------------------
// All locks are held across a fork, so that the shared structures are consistent in the child. The
// heaps of the threads that the child does not have may be in the middle of an operation, so the
// child never allocates from them, although a thread may borrow a block of theirs that it frees
// (borrowed.hpp), for which it needs nothing of the heap. That memory is shared with the parent
// until it is written, so this costs nothing unless the child frees many blocks of these heaps.
//
// A signal handler may fork that interrupted the allocator, as crash reporters do. POSIX allows
// that: fork is async-signal-safe. What such a thread can count on:
//   - The fork never waits for a lock that the thread holds, nor for a thread that waits for such a
//     lock. It waits for locks of a higher rank only; of the others it takes those that are free.
//   - The parent continues as if the handler had not forked.
//   - The child can allocate and free, although POSIX does not require it. It gets a heap of its
//     own, because the interrupted operation may have left the thread's heap inconsistent. The
//     locks that the thread holds do not stop it. What they protect is as the interrupted code left
//     it, a few stores before or after a change. The same goes for a heap that was interrupted in a
//     fast path, which leaves no mark: such a child keeps it. So a child that allocates in the
//     handler takes a small risk, as with other allocators; one that calls only async-signal-safe
//     functions takes none. If its handler returns, the interrupted code finishes its operation.
//   - The handler may interrupt the handlers of another fork. When it returns, that one goes on, in
//     the parent and in the child.
//   - In a program with several threads, the child does not wait for a lock that another thread of
//     the parent held, but what that lock protects may be inconsistent.

// constinit: a library's constructor may fork before those of this one run.
constinit sync::Lock* const locks_in_order[] = {
    &quarantine_locks[0], &quarantine_locks[1], &quarantine_locks[2], &quarantine_locks[3],
    &checks_lock,         &samples_lock,        &heap_owners_lock,    &registry_lock,
    &orphans_lock,        &span_heap.lock(),    &metadata_lock,       &container_limit.lock(),
    &heap_limit.lock()};

constexpr unsigned kLocks = unsigned(std::size(locks_in_order));

struct Forking {
  // The heap of the thread that forks. before_fork() marks the thread as in a slow path, so that no
  // other thread takes the heap over while this one waits for a lock: it would be inconsistent in
  // the child.
  Heap* heap;
  bool interrupted;  // the fork interrupts a slow path of the allocator
  bool missing[kLocks];
};
// For each thread, because the forks of several threads may overlap if some locks are missing; and
// for each fork whose handlers were interrupted by another one. Still deeper ones take no locks.
constexpr unsigned kMaxForks = 8;
using Forkings = Forking[kMaxForks];
CORBEL_THREAD_VARIABLE(Forkings, forkings){};

bool is_too_deep() { return sync::Lock::forks() > kMaxForks; }
Forking& this_forking() { return forkings[sync::Lock::forks() - 1]; }

void leave_slow_path(Heap* heap) {
  if (heap != nullptr) heap->slow_paths.decrement();
}

void before_fork() {
  sync::Lock::begin_fork();
  if (is_too_deep()) return;
  Forking& forking = this_forking();
  // The locks up to this one may be waited for by a thread that waits for one that this thread
  // holds.
  unsigned held_end = 0;
  for (unsigned i = 0; i < kLocks; ++i) {
    if (locks_in_order[i]->is_held_before_fork()) held_end = i + 1;
  }
  // With a lock held, find_heap() might wait for a lock that it must not wait for. The heap cannot
  // be taken over then, because this thread is in a slow path.
  Heap* heap = held_end == 0 ? find_heap() : heap_of_thread();
  if (heap == &unset_heap) heap = nullptr;
  forking.heap = heap;
  forking.interrupted = held_end != 0;
  if (heap != nullptr) {
    forking.interrupted = forking.interrupted || heap->slow_paths.get() != 0;
    heap->slow_paths.add(1);
  }
  for (unsigned i = 0; i < kLocks; ++i) {
    forking.missing[i] = i < held_end && !locks_in_order[i]->is_held_before_fork() &&
                         !locks_in_order[i]->try_lock_for_fork();
    if (i >= held_end) locks_in_order[i]->lock_for_fork();
  }
}

// See Lock::end_fork for 0.
bool has_nothing_to_undo() { return sync::Lock::forks() == 0 || is_too_deep(); }

void after_fork_in_parent() {
  if (!has_nothing_to_undo()) {
    const Forking& forking = this_forking();
    for (unsigned i = 0; i < kLocks; ++i) {
      if (!forking.missing[i]) locks_in_order[i]->unlock_after_fork_in_parent();
    }
    leave_slow_path(forking.heap);
  }
  sync::Lock::end_fork();
}

void after_fork_in_child() {
  if (!has_nothing_to_undo()) {
    const Forking& forking = this_forking();
    for (unsigned i = 0; i < kLocks; ++i) {
      sync::Lock* const lock = locks_in_order[i];
      forking.missing[i] ? lock->reset_in_child() : lock->unlock_after_fork_in_child();
    }
    leave_slow_path(forking.heap);
    if (forking.interrupted) {
      set_this_heap(&this_heap, &unset_heap);
      watched() = {};
    }
  }
  span_heap.forget_other_threads();
  forget_helper_after_fork();
  forget_other_threads();
  forget_record_takers();
  sync::Lock::end_fork();
}

}  // namespace

void set_up_process() {
  // relaxed: only the first caller sets the process up, and no other caller waits for that
  if (process_is_set_up.exchange(true, std::memory_order_relaxed)) return;
  set_up_page_map();
  read_options();
  set_up_checks();
  set_up_sampling();
  set_up_guards();
  set_up_control();
  const ProgramCode code;
  os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace corbel::alloc
