// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/thread.hpp"

#include <utility>

#include "alloc/heap/bin.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/heap/orphans.hpp"
#include "alloc/heap/registry.hpp"
#include "alloc/heap/remote.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/lock_ranks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/span_heap.hpp"
#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit sync::Lock heap_owners_lock{lock_rank::kHeapOwners};

namespace {

// Set once this thread's exit hook has run.
CORBEL_THREAD_VARIABLE(bool, thread_is_ending) = false;

// os::thread_id() when the thread got its heap; 0: it has never had one.
CORBEL_THREAD_VARIABLE(std::uint32_t, own_thread_id) = 0;

// Valid once own_thread_id is set.
CORBEL_THREAD_VARIABLE(bool, thread_is_main) = false;

Heap* make_heap() {
  Heap* heap = static_cast<Heap*>(allocate_metadata(sizeof(Heap)));
  if (heap == nullptr) return nullptr;
  for (Bin& bin : heap->bins) bin.current = nullptr;
  register_heap(heap);
  return heap;
}

// Separates the calling thread from its heap and returns the heap; nullptr if it has none.
Heap* release_heap() {
  sync::LockGuard guard(heap_owners_lock);
  Heap* heap = heap_of_thread();
  if (heap == &unset_heap) heap = std::exchange(watched().heap, nullptr);
  if (heap == nullptr) return nullptr;
  set_this_heap(&this_heap, &unset_heap);
  heap->owner_slot = nullptr;
  heap->thread = 0;
  return heap;
}

// The exit hook. If the thread attaches another heap after the hook has run, the hook may run
// again: the system repeats hooks a limited number of times.
void leave_thread(void*) {
  thread_is_ending = true;
  note_thread_ends();
  // Not on Windows, where the gain was not measured.
  const bool rests = os::kExitHooksMayWait && !thread_is_main;
  detach_heap(rests ? MayRest::kYes : MayRest::kNo);
  take_rested_heaps_apart();
  if (thread_is_main) {
    end_time_profile();
    end_helper();
  } else {
    call_helper(MayStart::kNo);
  }
}

constinit os::ThreadExit thread_exit{leave_thread};

bool hook_exit(Heap* heap) {
  const ProgramCode code;
  return thread_exit.hook(heap);
}

// Hooks the main thread when the library is loaded, because it may never attach a heap.
__attribute__((constructor)) void hook_main_thread_at_start() {
  thread_is_main = os::is_main_thread(os::thread_id());
  if (thread_is_main) hook_main_thread(thread_exit.hook(&unset_heap));
  set_up_time_profile();
}

}  // namespace

void retire_heap(Heap* heap) {
  send_all(heap);
  receive(heap);
  for (Bin& bin : heap->bins) return_current(heap, &bin);
  release_empty_slabs(heap);
  for (Bin& bin : heap->bins) bin.committed_kib = 0;
  make_orphans(heap);
  heap->inbox.set_state(sync::Inbox::kIdle);
  {
    sync::LockGuard guard(orphans_lock);
    receive_into_orphans(heap);
  }
  add_spare_heap(heap);
  span_heap.purge_due();
}

std::size_t retire_rested(std::uint32_t least) {
  std::size_t retired = 0;
  // No more than rest at a time: others may come as long as this goes on.
  while (retired < kMaxResting) {
    Heap* const heap = take_rested_heap(least);
    if (heap == nullptr) break;
    retire_heap(heap);
    ++retired;
  }
  return retired;
}

void detach_heap(MayRest may_rest) {
  Heap* const heap = release_heap();
  if (heap == nullptr) return;
  note_left();
  if (may_rest == MayRest::kYes) {
    send_all(heap);
    if (rest(heap)) return;
  }
  retire_heap(heap);
}

namespace {

// A resting heap for the calling thread; nullptr if there is none. What a heap with slabs holds
// would be lost with a thread that may never detach it.
Heap* wake_heap() {
  if (thread_is_ending || os::ThreadExit::is_over()) return nullptr;
  Heap* const heap = take_resting_heap();
  // If the distance between samples has changed meanwhile, a flush was requested: it empties the
  // lists, as follow_sampling() requires.
  if (heap != nullptr && flush_is_wanted(heap)) flush_thread(heap);
  return heap;
}

Heap* spare_or_new_heap() {
  Heap* heap = take_spare_heap();
  if (heap == nullptr) heap = make_heap();
  if (heap != nullptr) follow_sampling(heap);
  return heap;
}

}  // namespace

Heap* find_heap() {
  // Read this_heap once: another thread may unset it at any time.
  if (Heap* heap = heap_of_thread(); heap != &unset_heap) return heap;
  if (own_thread_id == 0) return nullptr;  // no other thread knows of this one
  if (watched().heap != nullptr) return watched().heap;
  // Another thread may have unset this_heap tentatively, and is about to find out whether this
  // thread sleeps. With the lock the answer is known: it has put the heap back, or it has found
  // this thread asleep, perhaps in this very wait for the lock, and the heap is gone.
  sync::LockGuard guard(heap_owners_lock);
  Heap* heap = heap_of_thread();
  return heap != &unset_heap ? heap : nullptr;
}

Heap* attach_heap() {
  if (Heap* heap = find_heap()) return heap;
  Heap* heap = wake_heap();
  if (heap == nullptr) heap = spare_or_new_heap();
  if (heap == nullptr) return nullptr;
  heap->inbox.set_state(sync::Inbox::kLive);
  const std::size_t live = note_attached();
  const bool thread_is_new = own_thread_id == 0;
  note_heaps(live, thread_is_new);
  // Set the id each time: the child of a vfork, which shares this memory, may have set its own.
  own_thread_id = os::thread_id();
  if (thread_is_new) thread_is_main = os::is_main_thread(own_thread_id);
  // From here on malloc works; the calls below may need it.
  set_this_heap(&this_heap, heap);
  set_up_process();
  if (thread_is_new && !os::ThreadExit::is_over()) note_thread_begins();
  // Set `owner_slot`, which lets other threads take the heap over, only if the exit hook will clear
  // it before the thread's memory goes. A hook that has already run may not run again, so a heap
  // that is attached that late stays with its thread.
  const bool hooked = hook_exit(heap);
  // If another thread loaded the library, this is the first chance to hook the main thread.
  if (hooked && thread_is_main) hook_main_thread(true);
  if (hooked && !thread_is_ending) {
    sync::LockGuard guard(heap_owners_lock);
    heap->thread = own_thread_id;
    heap->owner_slot = watches() ? nullptr : &this_heap;
  }
  if (call_is_watched()) hide_heap();
  return heap;
}

Heap* heap_for_free() {
  if (thread_is_ending || os::ThreadExit::is_over()) return find_heap();
  return attach_heap();
}

std::uint32_t known_thread_id() { return own_thread_id != 0 ? own_thread_id : os::thread_id(); }

void forget_other_threads() {
  own_thread_id = os::thread_id();
  thread_is_main = true;
  Heap* const own = watched().heap != nullptr ? watched().heap : this_heap;
  hook_main_thread(hook_exit(own));
  reset_live_heaps(own != &unset_heap ? 1 : 0);
  for (Heap* heap = all_heaps; heap != nullptr; heap = heap->next) {
    if (heap == own) {
      heap->thread = own_thread_id;
      continue;
    }
    heap->owner_slot = nullptr;
    if (heap->inbox.state() == sync::Inbox::kLive) heap->inbox.set_state(sync::Inbox::kLost);
  }
}

}  // namespace corbel::alloc
