// SPDX-License-Identifier: Apache-2.0
#include "alloc/sleepers.hpp"

#include "alloc/lock_ranks.hpp"
#include "alloc/thread.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit sync::Lock sleepers_lock{lock_rank::kSleepers};

namespace {

constinit std::atomic<std::size_t> taken_over{0};

// Differs, but for an unlikely coincidence, when the thread has allocated in between. Reads what
// the owner writes meanwhile: a wrong value is as good as another, which the thread sanitizer
// cannot know.
__attribute__((no_sanitize("thread"))) std::uint64_t look_of(const Heap* heap) {
  std::uint64_t look = heap->refills;
  for (const Bin& bin : heap->bins) look = look * 31 + address_of(bin.list);
  return look;
}

bool has_allocated(Heap* heap) {
  const std::uint64_t look = look_of(heap);
  const bool changed = look != heap->seen;
  heap->seen = look;
  return changed;
}

// True if the heap is the caller's to take apart.
bool take(Heap* heap, bool idle_only) {
  sync::LockGuard guard(sleepers_lock);
  Heap** const place = heap->place;
  if (place == nullptr) return false;
  if (idle_only && has_allocated(heap)) return false;
  os::ThreadWatch watch(heap->thread, place);
  // Who is awake, as the owner of a busy heap nearly always is, is not disturbed.
  if (!watch.seems_asleep()) return false;
  set_place(place, &unset_heap);                        // (1)
  const bool is_free = watch.is_asleep() &&             // (2)
                       heap->slow_paths.peek() == 0 &&  // (3)
                       watch.is_still_asleep();         // (4)
  if (!is_free) {
    set_place(place, heap);  // (5)
    return false;
  }
  note_taken(heap);
  heap->place = nullptr;
  return true;
}

}  // namespace

std::size_t take_over_sleepers(bool idle_only) {
  if (!os::can_watch_threads()) return 0;
  const Heap* own = find_heap();
  std::size_t count = 0;
  for (Heap* heap = all_heaps_made(); heap != nullptr; heap = heap->next) {
    if (heap == own || !take(heap, idle_only)) continue;
    retire_heap(heap);
    ++count;
  }
  taken_over.fetch_add(count, std::memory_order_relaxed);  // relaxed: a statistic
  return count;
}

// relaxed: a statistic
std::size_t heaps_taken_over() { return taken_over.load(std::memory_order_relaxed); }

}  // namespace corbel::alloc
