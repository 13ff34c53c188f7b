// SPDX-License-Identifier: Apache-2.0
// The set-up of the process, and the fork handlers.
#include "alloc/heap/orphans.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/policy/container_limit.hpp"
#include "alloc/policy/environment.hpp"
#include "alloc/policy/heap_limit.hpp"
#include "alloc/policy/helper.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constinit std::atomic<bool> process_is_set_up{false};

// ---- fork ---------------------------------------------------------------------------------------
// All locks are held across a fork, so that the shared structures are consistent in the child. The
// heaps of the threads that the child does not have may be in the middle of an operation, so the
// child never allocates from them. That memory is shared with the parent until it is
// written, so this costs nothing unless the child frees many blocks of these heaps.

// constinit: a library's constructor may fork before those of this one run.
constinit sync::Lock* const locks_in_order[] = {
    &heap_owners_lock, &registry_lock,          &orphans_lock,     &span_heap.lock(),
    &metadata_lock,    &container_limit.lock(), &heap_limit.lock()};

// The heap of the thread that forks. before_fork() marks the thread as in a slow path, so that no
// other thread takes the heap over while this one waits for a lock: it would be inconsistent in the
// child.
constinit Heap* forking_heap = nullptr;  // under all locks

void leave_slow_path(Heap* heap) {
  if (heap != nullptr) heap->slow_paths.decrement();
}

void before_fork() {
  Heap* const heap = find_heap();
  if (heap != nullptr) heap->slow_paths.add(1);
  for (sync::Lock* lock : locks_in_order) lock->lock_for_fork();
  forking_heap = heap;
}

void after_fork_in_parent() {
  Heap* const heap = forking_heap;
  for (sync::Lock* lock : locks_in_order) lock->unlock_after_fork_in_parent();
  leave_slow_path(heap);
}

void after_fork_in_child() {
  for (sync::Lock* lock : locks_in_order) lock->unlock_after_fork_in_child();
  leave_slow_path(forking_heap);
  span_heap.forget_other_threads();
  forget_helper_after_fork();
  forget_other_threads();
}

}  // namespace

void set_up_process() {
  // relaxed: only the first caller sets the process up, and no other caller waits for that
  if (process_is_set_up.exchange(true, std::memory_order_relaxed)) return;
  set_up_page_map();
  read_options();
  os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace corbel::alloc
