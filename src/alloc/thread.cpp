// SPDX-License-Identifier: Apache-2.0
#include "alloc/thread.hpp"

#include "alloc/container_limit.hpp"
#include "alloc/heap_limit.hpp"
#include "alloc/helper.hpp"
#include "alloc/lock_ranks.hpp"
#include "alloc/metadata.hpp"
#include "alloc/options.hpp"
#include "alloc/orphans.hpp"
#include "alloc/remote.hpp"
#include "alloc/sleepers.hpp"
#include "alloc/span_heap.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit Heap unset_heap{};
thread_local constinit Heap* this_heap = &unset_heap;

namespace {

// Set once this thread's exit hook has run.
thread_local constinit bool thread_is_ending = false;

// os::thread_id() when the thread got its heap; 0: it has never had one.
thread_local constinit std::uint32_t own_thread_id = 0;

// Known from then on.
thread_local constinit bool thread_is_main = false;

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
  for (Bin& bin : heap->bins) bin.set_current(nullptr);
  sync::LockGuard guard(registry_lock);
  heap->next = all_heaps;
  all_heaps = heap;
  return heap;
}

// The calling thread's heap, which is its no longer; nullptr if it has none.
Heap* release_heap() {
  sync::LockGuard guard(sleepers_lock);
  Heap* heap = heap_of_thread();
  if (heap == &unset_heap) return nullptr;
  set_place(&this_heap, &unset_heap);
  heap->place = nullptr;
  return heap;
}

// The exit hook. It runs again for a heap that was attached after it has run, as long as the system
// calls it.
void leave_thread(void*) {
  thread_is_ending = true;
  detach_heap();
  if (thread_is_main) {
    end_helper();
  } else {
    call_helper(MayStart::kNo);
  }
}

constinit os::ThreadExit thread_exit{leave_thread};

// The main thread gets its exit hook early: it may never have a heap.
__attribute__((constructor)) void hook_main_thread_at_start() {
  thread_is_main = os::is_main_thread(os::thread_id());
  if (thread_is_main) hook_main_thread(thread_exit.hook(&unset_heap));
}

// ---- fork -------------------------------------------------------------------------------------
// All locks are held across a fork, so that the child finds the shared structures whole. The heaps
// of the threads that the child does not have may be in the middle of anything: the child leaves
// them alone for ever. Their memory is shared with the parent until written, so this costs nothing
// unless the child frees much of what they hold.

sync::Lock* const locks_in_order[] = {&sleepers_lock,    &registry_lock, &orphans_lock,
                                      &span_heap.lock(), &metadata_lock, &container_limit.lock(),
                                      &heap_limit.lock()};

// The thread that forks keeps its heap: taken over while it waits for a lock, the heap would be in
// pieces in the child.
constinit Heap* forking_heap = nullptr;  // under all locks

void let_go(Heap* heap) {
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
  let_go(heap);
}

void after_fork_in_child() {
  for (sync::Lock* lock : locks_in_order) lock->unlock_after_fork_in_child();
  let_go(forking_heap);
  span_heap.forget_other_threads();
  forget_helper_after_fork();
  own_thread_id = os::thread_id();
  thread_is_main = true;
  hook_main_thread(thread_exit.hook(this_heap));
  live_count = this_heap != &unset_heap ? 1 : 0;
  for (Heap* heap = all_heaps; heap != nullptr; heap = heap->next) {
    if (heap == this_heap) {
      heap->thread = own_thread_id;
      continue;
    }
    heap->place = nullptr;
    if (heap->inbox.state() == sync::Inbox::kLive) heap->inbox.set_state(sync::Inbox::kLost);
  }
}

void set_up_process() {
  // relaxed: only the first caller does it; nobody waits for it to be done
  if (process_is_set_up.exchange(true, std::memory_order_relaxed)) return;
  set_up_page_map();
  read_options();
  os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

void retire_heap(Heap* heap) {
  send_all(heap);
  receive(heap);
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

void detach_heap() {
  if (Heap* heap = release_heap()) retire_heap(heap);
}

Heap* find_heap() {
  // Read once: it may be unset the next moment.
  if (Heap* heap = heap_of_thread(); heap != &unset_heap) return heap;
  if (own_thread_id == 0) return nullptr;  // nobody knows of this thread
  // Somebody may be about to find out that this thread is awake.
  sync::LockGuard guard(sleepers_lock);
  Heap* heap = heap_of_thread();
  return heap != &unset_heap ? heap : nullptr;
}

Heap* attach_heap() {
  if (Heap* heap = find_heap()) return heap;
  Heap* heap = take_idle_heap();
  if (heap == nullptr) heap = make_heap();
  if (heap == nullptr) return nullptr;
  heap->inbox.set_state(sync::Inbox::kLive);
  std::size_t live;
  {
    sync::LockGuard guard(registry_lock);
    live = ++live_count;
  }
  const bool thread_is_new = own_thread_id == 0;
  note_heaps(live, thread_is_new);
  // Each time: the child of a vfork may have been here in the thread's place.
  own_thread_id = os::thread_id();
  if (thread_is_new) thread_is_main = os::is_main_thread(own_thread_id);
  // From here on malloc works, which the hooks below may call.
  set_place(&this_heap, heap);
  set_up_process();
  // Without the hook nobody would know when `place` is gone. Once the hook has run it may not run
  // again, so that a heap of that late a time stays with its thread.
  const bool hooked = thread_exit.hook(heap);
  // Where the library was opened by another thread, this is the first that is seen of it.
  if (hooked && thread_is_main) hook_main_thread(true);
  if (hooked && !thread_is_ending) {
    sync::LockGuard guard(sleepers_lock);
    heap->thread = own_thread_id;
    heap->place = &this_heap;
  }
  return heap;
}

Heap* heap_for_free() {
  if (thread_is_ending) return find_heap();
  return attach_heap();
}

std::size_t live_heaps() {
  sync::LockGuard guard(registry_lock);
  return live_count;
}

Heap* all_heaps_made() {
  sync::LockGuard guard(registry_lock);
  return all_heaps;
}

}  // namespace corbel::alloc
