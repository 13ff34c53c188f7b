// SPDX-License-Identifier: Apache-2.0
#include "alloc/policy/helper.hpp"

#include <algorithm>

#include "alloc/heap/remote.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/map/options.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/policy/container_limit.hpp"
#include "alloc/policy/idle_heaps.hpp"
#include "alloc/policy/reclaim.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit std::atomic<std::uint32_t> helper_word{std::uint32_t(Helper::kNone)};

namespace {

// A smaller heap is not worth a thread.
constexpr std::size_t kMinMapped = std::size_t(8) << 20;
// All in milliseconds: the pause after a failure to start the helper, the minimum between two
// passes, and the minimum time for which a heap must be unused before it is taken over.
constexpr std::uint32_t kRetryAfter = 60000;
constexpr std::uint32_t kMinDelay = 20;
constexpr std::uint32_t kMinIdle = 2;
// After this many passes in a row that gave nothing back, the helper parks even if memory is due.
constexpr int kMaxFutile = 4;

// At or below kFewHeaps, heaps are taken over only once per purge delay. Above, the helper is woken
// for every kThreadsPerWake new threads (Crowd).
constexpr std::size_t kFewHeaps = 8;
constexpr std::uint32_t kThreadsPerWake = 8;

// The bits of `reasons`.
constexpr std::uint32_t kSecondHeap = 1;
constexpr std::uint32_t kMemory = 2;
constexpr std::uint32_t kManyHeaps = 4;

// relaxed all: each is a hint, and helper_word decides which thread acts on it
constinit std::atomic<std::uint32_t> reasons{0};
constinit std::atomic<std::uint32_t> refused_at{0};  // os::now_ms(), cut to 32 bits; 0: never
constinit std::atomic<bool> main_thread_is_hooked{false};
constinit std::atomic<std::uint32_t> new_threads{0};  // attached while there were many heaps

bool change(Helper from, Helper to) {
  auto expected = std::uint32_t(from);
  // (1) acq_rel: pairs with (1) in other threads. A thread that finds the helper running, and may
  // join it, sees what os::start_thread() stored, published by (2) and passed on by the calls of
  // (1) after that. The word publishes nothing else.
  return helper_word.compare_exchange_strong(expected, std::uint32_t(to), std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
}

void note(std::uint32_t reason) {
  const std::uint32_t all = reasons.fetch_or(reason, std::memory_order_relaxed) | reason;
  if (helper_state() != Helper::kNone) return;
  if (!main_thread_is_hooked.load(std::memory_order_relaxed)) return;
  const HelperThread when = options.helper_thread.load(std::memory_order_relaxed);
  if (when == HelperThread::kNever || (all & (kMemory | kManyHeaps)) == 0) return;
  if (when == HelperThread::kAuto && (all & kSecondHeap) == 0) return;
  const std::uint32_t refused = refused_at.load(std::memory_order_relaxed);
  if (refused != 0 && std::uint32_t(os::now_ms()) - refused < kRetryAfter) return;
  change(Helper::kNone, Helper::kWanted);
}

// Whether the calling thread owns its heap. False in the child of a vfork, which uses the heap of
// the thread that created it, and must not start a thread.
bool is_own_heap() {
  Heap* heap = find_heap();
  if (heap == nullptr) return false;
  SlowPath slow_path(heap);
  return heap->thread == os::thread_id();
}

// ---- the thread -------------------------------------------------------------------------------

std::uint32_t delay() {
  // relaxed: see options.hpp
  return std::clamp(options.purge_delay.load(std::memory_order_relaxed), kMinDelay, 1U << 30);
}

// Does the helper's work once. Returns true if there was something to do, or if threads allocate
// and so may cause more work without passing a slow path. If it returns false, the next work comes
// with a slow path, which calls the helper.
bool pass() {
  os::attend_requests();
  const std::size_t before = span_heap.figures().dirty_pages;
  if (container_limit.refresh()) trim(0);
  std::size_t active = 0;
  const std::size_t taken = retire_rested(kRestMs) + take_over_idle_heaps(true, &active);
  tidy_orphans();
  const std::size_t given = purge_orphans();
  span_heap.purge_due();
  // Purging the orphans has attached a heap to this thread, which is no longer needed.
  detach_heap(MayRest::kNo);
  return taken != 0 || active != 0 || some_heap_rests() || given != 0 ||
         span_heap.figures().dirty_pages != before;
}

// Takes heaps over early when there are many heaps and new threads keep coming: then most heaps
// belong to threads that sleep. Threads that attach a heap again do not count as new: if threads
// sleep and wake in turn, each heap that is taken over must soon be attached again.
class Crowd {
 public:
  bool is_there() const { return live_heaps() > kFewHeaps; }

  // Milliseconds until the next look, unless the helper is woken. Doubles while no new threads
  // come.
  std::uint32_t pause() const { return is_there() ? pause_ : ~std::uint32_t(0); }

  // Takes over idle heaps, unless there was a look or a pass a moment ago: a thread that was busy
  // then cannot be idle yet.
  void look(std::uint64_t now) {
    if (now - seen_ < kMinIdle) return;
    seen_ = now;
    take_over_idle_heaps(true);
    // relaxed: a hint
    const std::uint32_t came = new_threads.load(std::memory_order_relaxed);
    pause_ = came != came_ ? kMinDelay : std::min(pause_ * 2, 1U << 20);
    came_ = came;
  }
  void note_pass(std::uint64_t now) { seen_ = now; }

 private:
  std::uint64_t seen_ = 0;
  std::uint32_t came_ = new_threads.load(std::memory_order_relaxed);  // relaxed: a hint
  std::uint32_t pause_ = kMinDelay;
};

// Runs passes until two in a row have found nothing to do: memory that was not due in the first may
// be due in the second. Returns false if the system refuses to take back what is due.
bool work() {
  int quiet = 0;
  int futile = 0;
  Crowd crowd;
  std::uint64_t next = os::now_ms() + delay();
  while (quiet < 2 && helper_state() == Helper::kAwake) {
    std::uint64_t now = os::now_ms();
    if (now < next) {
      const auto left = std::uint32_t(next - now);
      os::wait_for(helper_word, std::uint32_t(Helper::kAwake), std::min(left, crowd.pause()));
      now = os::now_ms();
      // No look if the next pass is near: a pass takes idle heaps over too.
      const bool is_near = now + kMinIdle >= next;
      if (helper_state() == Helper::kAwake && !is_near && crowd.is_there()) crowd.look(now);
      continue;
    }
    const bool found = pass();
    now = os::now_ms();
    crowd.note_pass(now);
    next = now + delay();
    // Memory that the system refuses to take back stays due: give up after a few passes.
    futile = found ? 0 : futile + 1;
    const bool waits = span_heap.has_due_later() && futile < kMaxFutile;
    quiet = found || waits ? 0 : quiet + 1;
  }
  return futile < kMaxFutile;
}

// Parks the helper until a slow path calls it.
//
// No call is lost once the word is kParked: a caller first changes the word and then wakes the
// helper, and the system puts the helper to sleep only if the word is still kParked. But a slow
// path may have read kAwake just before the word became kParked, because its load is relaxed or
// because its thread was interrupted. It does not call the helper, and the memory it then frees
// comes after the last pass. So the helper makes another pass when the word has been kParked for a
// while. By then, only a thread that was kept off the processor all that time can still act on the
// old value. If that pass finds memory that is not due yet, the helper continues to work, unless
// `waits_for_due` is false, because the system refuses to take memory back. So only what a thread
// frees after being kept off the processor for that long stays, until any thread's next slow path.
void park(bool waits_for_due) {
  if (!change(Helper::kAwake, Helper::kParked)) return;
  os::wait_for(helper_word, std::uint32_t(Helper::kParked), delay());
  if (helper_state() == Helper::kParked &&
      (pass() || (waits_for_due && span_heap.has_due_later()))) {
    change(Helper::kParked, Helper::kAwake);
  }
  while (helper_state() == Helper::kParked) {
    constexpr auto kParked = std::uint32_t(Helper::kParked);
    if (os::attend_requests()) {
      os::wait_for(helper_word, kParked, os::kRequestsLast);
    } else {
      os::wait(helper_word, kParked);
    }
  }
}

void run() {
  while (helper_state() == Helper::kStarting) {
    os::wait(helper_word, std::uint32_t(Helper::kStarting));
  }
  while (helper_state() != Helper::kEnded) {
    park(work());
  }
}

}  // namespace

Helper helper_state() {
  return Helper(helper_word.load(std::memory_order_relaxed));  // relaxed: see call_helper()
}

void note_heaps(std::size_t live, bool thread_is_new) {
  if (live < 2) return;
  note(live > kFewHeaps ? kSecondHeap | kManyHeaps : kSecondHeap);
  if (live <= kFewHeaps || !thread_is_new) return;
  // relaxed: a hint
  if (new_threads.fetch_add(1, std::memory_order_relaxed) % kThreadsPerWake != 0) return;
  if (helper_state() == Helper::kAwake) os::wake_one(helper_word);
}

void note_mapped_bytes(std::size_t mapped) {
  if (mapped > kMinMapped) note(kMemory);
}

void call_helper_slow(MayStart may_start) {
  if (change(Helper::kParked, Helper::kAwake)) {
    os::wake_one(helper_word);
    return;
  }
  if (may_start == MayStart::kNo || helper_state() != Helper::kWanted) return;
  if (!is_own_heap()) return;
  // Starting a thread calls malloc, which comes here again. It finds kStarting and returns.
  if (!change(Helper::kWanted, Helper::kStarting)) return;
  bool started;
  {
    const ProgramCode code;
    started = os::start_thread("corbel", run);
  }
  if (!started) {
    // relaxed: a hint
    refused_at.store(std::max(1U, std::uint32_t(os::now_ms())), std::memory_order_relaxed);
  }
  // (2) release, by change(): publishes what os::start_thread() stored to (1). It fails only if
  // end_helper() has not waited for it
  change(Helper::kStarting, started ? Helper::kAwake : Helper::kNone);
  os::wake_one(helper_word);
}

// ---- the end of the main thread, and fork -----------------------------------------------------

void hook_main_thread(bool hooked) {
  main_thread_is_hooked.store(hooked, std::memory_order_relaxed);  // relaxed: a hint
}

void end_helper() {
  for (;;) {
    const Helper state = helper_state();
    if (state == Helper::kEnded) return;
    if (os::kExitHooksMayWait && state == Helper::kStarting) {
      os::yield();  // another thread is starting it, and is about to be done
      continue;
    }
    if (!change(state, Helper::kEnded)) continue;
    if (state != Helper::kParked && state != Helper::kAwake && state != Helper::kStarting) return;
    os::wake_one(helper_word);
    if constexpr (os::kExitHooksMayWait) os::join_thread();
    return;
  }
}

void forget_helper_after_fork() {
  // relaxed all: no other thread exists
  helper_word.store(std::uint32_t(Helper::kNone), std::memory_order_relaxed);
  reasons.fetch_and(~(kSecondHeap | kManyHeaps), std::memory_order_relaxed);
  refused_at.store(0, std::memory_order_relaxed);
}

}  // namespace corbel::alloc
