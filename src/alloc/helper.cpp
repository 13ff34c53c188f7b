// SPDX-License-Identifier: Apache-2.0
#include "alloc/helper.hpp"

#include <algorithm>

#include "alloc/allocator.hpp"
#include "alloc/container_limit.hpp"
#include "alloc/options.hpp"
#include "alloc/orphans.hpp"
#include "alloc/slab_pages.hpp"
#include "alloc/sleepers.hpp"
#include "alloc/span_heap.hpp"
#include "alloc/thread.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit std::atomic<std::uint32_t> helper_word{std::uint32_t(Helper::kNone)};

namespace {

// Below, what could be given back is not worth a thread.
constexpr std::size_t kLeastMapped = std::size_t(8) << 20;
constexpr std::uint32_t kRetryAfter = 60000;  // milliseconds
constexpr std::uint32_t kShortestDelay = 20;  // milliseconds
constexpr std::uint32_t kLeastIdle = 2;       // milliseconds
constexpr int kMostFutile = 4;

// So many heaps are not many, whatever their threads do; and so many new threads are worth a look
// at once.
constexpr std::size_t kFewHeaps = 8;
constexpr std::uint32_t kThreadsAWake = 8;

constexpr std::uint32_t kSecondHeap = 1;
constexpr std::uint32_t kMemory = 2;
constexpr std::uint32_t kManyHeaps = 4;

// relaxed all: each is a hint, and helper_word decides who acts on it
constinit std::atomic<std::uint32_t> reasons{0};
constinit std::atomic<std::uint32_t> refused_at{0};  // os::now_ms(), cut; 0: never
constinit std::atomic<bool> main_thread_is_hooked{false};
constinit std::atomic<std::uint32_t> new_threads{0};  // that came where heaps were many

bool change(Helper from, Helper to) {
  auto expected = std::uint32_t(from);
  // (1) release and acquire: whoever finds the thread running sees what starting it has stored, by
  // (2) or by a chain of (1) from there. Nothing else is passed on with the word.
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

// The child of a vfork runs here as the thread that has made it.
bool is_own_heap() {
  Heap* heap = find_heap();
  if (heap == nullptr) return false;
  SlowPath slow_path(heap);
  return heap->thread == os::thread_id();
}

// ---- the thread -------------------------------------------------------------------------------

std::uint32_t delay() {
  // relaxed: see options.hpp
  return std::clamp(options.purge_delay.load(std::memory_order_relaxed), kShortestDelay, 1U << 30);
}

// True if there was something to do, or threads are about to make something. If not, the next to
// make any comes by a slow path.
bool pass() {
  const std::size_t before = span_heap.figures().dirty_pages;
  if (container_limit.refresh()) trim(0);
  std::size_t active = 0;
  const std::size_t taken = take_over_sleepers(true, &active);
  tidy_orphans();
  const std::size_t given = purge_orphan_pages();
  span_heap.purge_due();
  // What it has for visiting the orphans, it needs no longer.
  detach_heap();
  return taken != 0 || active != 0 || given != 0 || span_heap.figures().dirty_pages != before;
}

// Where heaps are many and threads go on coming, most heaps belong to threads that sleep, and are
// not kept for as long as purging waits. Threads that were there before and take their heaps again
// are no reason: where they sleep and wake in turn, a heap taken is one more to attach.
class Crowd {
 public:
  bool is_there() const { return live_heaps() > kFewHeaps; }

  // How long until the next look, if nobody wakes the helper; where no threads came, twice as long.
  std::uint32_t pause() const { return is_there() ? pause_ : ~std::uint32_t(0); }

  // Looks, unless that was done, or a pass, a moment ago: a thread that was busy then is not idle.
  void look(std::uint64_t now) {
    if (now - seen_ < kLeastIdle) return;
    seen_ = now;
    take_over_sleepers(true);
    // relaxed: a hint
    const std::uint32_t came = new_threads.load(std::memory_order_relaxed);
    pause_ = came != came_ ? kShortestDelay : std::min(pause_ * 2, 1U << 20);
    came_ = came;
  }
  void note_pass(std::uint64_t now) { seen_ = now; }

 private:
  std::uint64_t seen_ = 0;
  std::uint32_t came_ = new_threads.load(std::memory_order_relaxed);  // relaxed: a hint
  std::uint32_t pause_ = kShortestDelay;
};

// Until there has been nothing to do twice: what the first of them found may have become due, or
// quiet, only then. False if what is due cannot be given back.
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
      // The pass is a look, too.
      const bool is_near = now + kLeastIdle >= next;
      if (helper_state() == Helper::kAwake && !is_near && crowd.is_there()) crowd.look(now);
      continue;
    }
    const bool found = pass();
    now = os::now_ms();
    crowd.note_pass(now);
    next = now + delay();
    // What the system refuses to take would be due for ever.
    futile = found ? 0 : futile + 1;
    const bool waits = span_heap.has_due_later() && futile < kMostFutile;
    quiet = found || waits ? 0 : quiet + 1;
  }
  return futile < kMostFutile;
}

// Sleeps until it is called.
//
// Nobody's call is lost once the word is kParked: a caller changes it first and wakes then, and the
// system puts the thread to sleep only while the word is what it was. But a slow path that has read
// kAwake just before the change, because its load is relaxed or because its thread was interrupted,
// does not call, and what it did comes after the last pass. So there is another pass when the word
// has been kParked for a while, and nobody can still have the old value, but for a thread that was
// kept off the processor all that time; and if it finds what is too young, unless `heeds_due` says
// that there is no use, it goes on. What a thread kept off for so long has freed, and nothing else,
// stays until the next slow path of any thread.
void park(bool heeds_due) {
  if (!change(Helper::kAwake, Helper::kParked)) return;
  os::wait_for(helper_word, std::uint32_t(Helper::kParked), delay());
  if (helper_state() == Helper::kParked && (pass() || (heeds_due && span_heap.has_due_later()))) {
    change(Helper::kParked, Helper::kAwake);
  }
  while (helper_state() == Helper::kParked) {
    os::wait(helper_word, std::uint32_t(Helper::kParked));
  }
}

void run() {
  while (helper_state() == Helper::kStarting) {
    os::wait(helper_word, std::uint32_t(Helper::kStarting));
  }
  while (helper_state() != Helper::kBarred) {
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
  if (new_threads.fetch_add(1, std::memory_order_relaxed) % kThreadsAWake != 0) return;
  if (helper_state() == Helper::kAwake) os::wake_one(helper_word);
}

void note_mapped_bytes(std::size_t mapped) {
  if (mapped > kLeastMapped) note(kMemory);
}

void call_helper_slow(MayStart may_start) {
  if (change(Helper::kParked, Helper::kAwake)) {
    os::wake_one(helper_word);
    return;
  }
  if (may_start == MayStart::kNo || helper_state() != Helper::kWanted) return;
  if (!is_own_heap()) return;
  // Starting a thread calls malloc, which finds this and goes on.
  if (!change(Helper::kWanted, Helper::kStarting)) return;
  const bool started = os::start_thread("corbel", run);
  if (!started) {
    // relaxed: see above
    refused_at.store(std::max(1U, std::uint32_t(os::now_ms())), std::memory_order_relaxed);
  }
  // (2) with (1): nobody but this thread changes kStarting
  change(Helper::kStarting, started ? Helper::kAwake : Helper::kNone);
  os::wake_one(helper_word);
}

// ---- the end of the main thread, and fork -----------------------------------------------------

void hook_main_thread(bool hooked) {
  main_thread_is_hooked.store(hooked, std::memory_order_relaxed);  // relaxed: see above
}

void end_helper() {
  for (;;) {
    const Helper state = helper_state();
    if (state == Helper::kBarred) return;
    if (state == Helper::kStarting) {
      os::yield();  // another thread is about to be done with it
      continue;
    }
    if (!change(state, Helper::kBarred)) continue;
    if (state != Helper::kParked && state != Helper::kAwake) return;
    os::wake_one(helper_word);
    return os::join_thread();
  }
}

void forget_helper_after_fork() {
  // relaxed all: no other thread exists
  helper_word.store(std::uint32_t(Helper::kNone), std::memory_order_relaxed);
  reasons.fetch_and(~(kSecondHeap | kManyHeaps), std::memory_order_relaxed);
  refused_at.store(0, std::memory_order_relaxed);
}

}  // namespace corbel::alloc
