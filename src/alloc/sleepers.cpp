// SPDX-License-Identifier: Apache-2.0
#include "alloc/sleepers.hpp"

#include <algorithm>

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
  for (const Bin& bin : heap->bins) look = (look * 31 + address_of(bin.list)) * 31 + bin.put_backs;
  return look;
}

bool has_allocated(Heap* heap) {
  const std::uint64_t look = look_of(heap);
  const bool changed = look != heap->seen;
  heap->seen = look;
  return changed;
}

enum class Outcome {
  kTaken,   // the heap is the caller's to take apart
  kActive,  // the thread is awake, or has allocated
  kStays,   // nothing will change unless the thread wakes up
};

// Who sleeps where its heap cannot be taken, in a signal handler or on a stack that is not its own,
// mostly does so for long, and looking is not cheap: the helper thread comes back after 1, 3, 7 ...
// rounds.
constexpr std::uint8_t kMostPatience = 63;

Outcome leave_alone(Heap* heap) {
  heap->patience = std::uint8_t(std::min(heap->patience * 2 + 1, int{kMostPatience}));
  heap->rounds_to_wait = heap->patience;
  return Outcome::kStays;
}

Outcome take(Heap* heap, bool idle_only) {
  sync::LockGuard guard(sleepers_lock);
  Heap** const place = heap->place;
  if (place == nullptr) return Outcome::kStays;
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
  os::ThreadWatch watch(heap->thread, place);
  // Who is awake, as the owner of a busy heap nearly always is, is not disturbed.
  const auto seems = watch.seems();
  if (seems == os::ThreadWatch::Seems::kAwake) return Outcome::kActive;
  if (seems == os::ThreadWatch::Seems::kElsewhere) return leave_alone(heap);
  set_place(place, &unset_heap);                        // (1)
  const bool is_free = watch.is_asleep() &&             // (2)
                       heap->slow_paths.peek() == 0 &&  // (3)
                       watch.is_still_asleep();         // (4)
  if (!is_free) {
    set_place(place, heap);  // (5)
    return leave_alone(heap);
  }
  note_taken(heap);
  heap->place = nullptr;
  heap->patience = heap->rounds_to_wait = 0;
  return Outcome::kTaken;
}

}  // namespace

std::size_t take_over_sleepers(bool idle_only, std::size_t* active) {
  if (!os::can_watch_threads()) return 0;
  const Heap* own = find_heap();
  std::size_t count = 0;
  for (Heap* heap = all_heaps_made(); heap != nullptr; heap = heap->next) {
    if (heap == own) continue;
    const Outcome outcome = take(heap, idle_only);
    if (outcome == Outcome::kActive && active != nullptr) ++*active;
    if (outcome != Outcome::kTaken) continue;
    retire_heap(heap);
    ++count;
  }
  taken_over.fetch_add(count, std::memory_order_relaxed);  // relaxed: a statistic
  return count;
}

// relaxed: a statistic
std::size_t heaps_taken_over() { return taken_over.load(std::memory_order_relaxed); }

}  // namespace corbel::alloc
