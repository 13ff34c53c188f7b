// SPDX-License-Identifier: Apache-2.0
#include "alloc/thread.hpp"

#include <utility>

#include "alloc/container_limit.hpp"
#include "alloc/heap_limit.hpp"
#include "alloc/lock_ranks.hpp"
#include "alloc/metadata.hpp"
#include "alloc/options.hpp"
#include "alloc/orphans.hpp"
#include "alloc/remote.hpp"
#include "alloc/span_heap.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

template <std::size_t... kIndex>
constexpr Heap make_unset_heap(std::index_sequence<kIndex...>) {
  return Heap{.direct = {(void(kIndex), &unset_heap.bins[0])...}};
}

}  // namespace

constinit Heap unset_heap = make_unset_heap(std::make_index_sequence<Heap::kDirect>());
thread_local constinit Heap* this_heap = &unset_heap;

namespace {

// Set once this thread's exit hook has run.
thread_local constinit bool thread_is_ending = false;

constinit sync::Lock registry_lock{lock_rank::kRegistry};
constinit Heap* all_heaps = nullptr;  // these three under registry_lock
constinit Heap* idle_heaps = nullptr;
constinit std::size_t live_count = 0;
constinit std::atomic<bool> process_is_set_up{false};

Heap* take_idle_heap() {
  sync::LockGuard guard(registry_lock);
  Heap* heap = idle_heaps;
  if (heap != nullptr) idle_heaps = heap->next_idle;
  return heap;
}

Heap* make_heap() {
  Heap* heap = static_cast<Heap*>(allocate_metadata(sizeof(Heap)));
  if (heap == nullptr) return nullptr;
  for (std::size_t i = 0; i < Heap::kDirect; ++i) heap->direct[i] = &heap->bins[class_of(i * 8)];
  sync::LockGuard guard(registry_lock);
  heap->next = all_heaps;
  all_heaps = heap;
  return heap;
}

void detach_heap(void* argument) {
  Heap* heap = static_cast<Heap*>(argument);
  send_all(heap);
  receive(heap);
  this_heap = &unset_heap;
  thread_is_ending = true;
  abandon_slabs(heap);
  heap->inbox.set_state(sync::Inbox::kIdle);
  {
    sync::LockGuard guard(orphans_lock);
    receive_for_idle(heap);
  }
  {
    sync::LockGuard guard(registry_lock);
    heap->next_idle = idle_heaps;
    idle_heaps = heap;
    --live_count;
  }
  span_heap.purge_due();
}

// ---- fork -------------------------------------------------------------------------------------
// All locks are held across a fork, so that the child finds the shared structures whole. The heaps
// of the threads that the child does not have may be in the middle of anything: the child leaves
// them alone for ever. Their memory is shared with the parent until written, so this costs nothing
// unless the child frees much of what they hold.

sync::Lock* const locks_in_order[] = {&registry_lock, &orphans_lock,           &span_heap.lock(),
                                      &metadata_lock, &container_limit.lock(), &heap_limit.lock()};

void before_fork() {
  for (sync::Lock* lock : locks_in_order) lock->lock_for_fork();
}

void after_fork_in_parent() {
  for (sync::Lock* lock : locks_in_order) lock->unlock_after_fork_in_parent();
}

void after_fork_in_child() {
  for (sync::Lock* lock : locks_in_order) lock->unlock_after_fork_in_child();
  live_count = this_heap != &unset_heap ? 1 : 0;
  for (Heap* heap = all_heaps; heap != nullptr; heap = heap->next) {
    if (heap == this_heap || heap->inbox.state() != sync::Inbox::kLive) continue;
    heap->inbox.set_state(sync::Inbox::kLost);
  }
}

void set_up_process() {
  // relaxed: only the first caller does it; nobody waits for it to be done
  if (process_is_set_up.exchange(true, std::memory_order_relaxed)) return;
  read_options();
  os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

Heap* attach_heap() {
  if (this_heap != &unset_heap) return this_heap;
  Heap* heap = take_idle_heap();
  if (heap == nullptr) heap = make_heap();
  if (heap == nullptr) return nullptr;
  heap->inbox.set_state(sync::Inbox::kLive);
  {
    sync::LockGuard guard(registry_lock);
    ++live_count;
  }
  // From here on malloc works, which the hooks below may call.
  this_heap = heap;
  set_up_process();
  os::at_thread_exit(detach_heap, heap);
  return heap;
}

Heap* heap_for_free() {
  if (this_heap != &unset_heap) return this_heap;
  return thread_is_ending ? nullptr : attach_heap();
}

std::size_t live_heaps() {
  sync::LockGuard guard(registry_lock);
  return live_count;
}

const Heap* all_heaps_made() {
  sync::LockGuard guard(registry_lock);
  return all_heaps;
}

}  // namespace corbel::alloc
