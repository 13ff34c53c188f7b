// SPDX-License-Identifier: Apache-2.0
#include "alloc/policy/idle_heaps.hpp"

#include <algorithm>

#include "alloc/heap/thread.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constinit std::atomic<std::size_t> taken_over{0};

// A fingerprint of the heap, which changes, but for an unlikely coincidence, when the thread
// allocates. The owner may write these fields meanwhile. That does no harm, because any value will
// do, but the thread sanitizer cannot know that.
__attribute__((no_sanitize("thread"))) std::uint64_t fingerprint_of(const Heap* heap) {
  std::uint64_t fingerprint = heap->refills;
  for (const Bin& bin : heap->bins) fingerprint = fingerprint * 31 + address_of(bin.list);
  return fingerprint;
}

bool has_allocated(Heap* heap) {
  const std::uint64_t fingerprint = fingerprint_of(heap);
  const bool changed = fingerprint != heap->fingerprint;
  heap->fingerprint = fingerprint;
  return changed;
}

enum class Outcome {
  kTaken,   // the heap is the caller's to retire
  kActive,  // the thread is awake, or has allocated
  kStays,   // nothing will change unless the thread wakes up
};

// Some threads sleep where their heap cannot be taken over: in a signal handler, or on a stack that
// is not their own. They mostly sleep for long, and the check is not cheap, so the helper thread
// checks them again only after 1, 3, 7 ... rounds.
constexpr std::uint8_t kMaxPatience = 63;

Outcome leave_alone(Heap* heap) {
  heap->patience = std::uint8_t(std::min(heap->patience * 2 + 1, int{kMaxPatience}));
  heap->rounds_to_wait = heap->patience;
  return Outcome::kStays;
}

Outcome take(Heap* heap, bool idle_only) {
  sync::LockGuard guard(heap_owners_lock);
  Heap** const slot = heap->owner_slot;
  if (slot == nullptr) return Outcome::kStays;
  if (idle_only) {
    if (has_allocated(heap)) {
      heap->patience = heap->rounds_to_wait = 0;
      return Outcome::kActive;
    }
    if (heap->rounds_to_wait != 0) {
      --heap->rounds_to_wait;
      return Outcome::kStays;
    }
  }
  os::ThreadWatch watch(heap->thread, slot, &this_heap);
  // A cheap look first: the owner of a busy heap is nearly always awake, and is then not disturbed.
  const auto seems = watch.seems();
  if (seems == os::ThreadWatch::Seems::kAwake) return Outcome::kActive;
  if (seems == os::ThreadWatch::Seems::kElsewhere) return leave_alone(heap);
  set_this_heap(slot, &unset_heap);                     // (1)
  const bool is_free = watch.is_asleep() &&             // (2)
                       heap->slow_paths.peek() == 0 &&  // (3)
                       watch.is_still_asleep();         // (4)
  if (!is_free) {
    set_this_heap(slot, heap);  // (5)
    return leave_alone(heap);
  }
  note_taken(heap);
  heap->owner_slot = nullptr;
  heap->patience = heap->rounds_to_wait = 0;
  return Outcome::kTaken;
}

}  // namespace

std::size_t take_over_idle_heaps(bool idle_only, std::size_t* active) {
  {
    // This lock and that of take() are taken for a fork: so no child inherits a file that is open
    // for a moment.
    sync::LockGuard guard(heap_owners_lock);
    if (!os::can_watch_threads()) return 0;
  }
  const Heap* own = find_heap();
  std::size_t count = 0;
  for (Heap* heap = all_heaps_made(); heap != nullptr; heap = heap->next) {
    if (heap == own) continue;
    const Outcome outcome = take(heap, idle_only);
    if (outcome == Outcome::kActive && active != nullptr) ++*active;
    if (outcome != Outcome::kTaken) continue;
    note_left();
    retire_heap(heap);
    ++count;
  }
  taken_over.fetch_add(count, std::memory_order_relaxed);  // relaxed: a statistic
  return count;
}

bool take_rested_heaps_apart() { return retire_rested(kRestMs) != 0; }

// relaxed: a statistic
std::size_t heaps_taken_over() { return taken_over.load(std::memory_order_relaxed); }

}  // namespace corbel::alloc
