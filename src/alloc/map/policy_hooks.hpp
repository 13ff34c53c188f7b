// SPDX-License-Identifier: Apache-2.0
// The calls from the lower rooms up into the policy: "I need room", "memory fell", "work is
// waiting". They are declared here and defined in src/alloc/policy, so that the page map, the span
// heap and the heaps depend neither on the limits nor on the helper thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

struct Heap;
struct Span;

// ---- "I need room" (heap_limit.cpp) -------------------------------------------------------------

// How often one request may still call the program's callback (corbel_on_limit). All attempts to
// serve the request share this budget.
struct LimitCalls {
  static constexpr unsigned kMax = 8;

  unsigned left = kMax;  // set to 0 when the callback returns 0
  bool counts = true;    // whether a refusal is counted in the statistics
};

// For a request that the caller can do without.
inline constexpr LimitCalls kNoLimitCalls{.left = 0, .counts = false};

// The search for room for one attempt to serve a request. An attempt may call find() repeatedly.
class RoomSearch {
 public:
  // `heap` is the calling thread's heap, or nullptr; the thread is in a slow path (SlowPath).
  // `calls` must outlive the search.
  RoomSearch(Heap* heap, LimitCalls& calls) : heap_(heap), calls_(calls) {}

  // Reclaims memory after the request failed. `shortage` is the number of bytes that did not fit
  // under a limit; 0 if the system had no more memory. Returns true if it is worthwhile to try the
  // request again. `kept` is SpanRequest::kept. Requires: the caller holds no lock. The contents of
  // its heap may change.
  bool find(std::size_t shortage, const Span* kept = nullptr);

 private:
  bool pass_hard(std::size_t bytes, const Span* kept);
  bool give_back(std::size_t bytes, const Span* kept);
  bool call_back(std::size_t bytes);

  Heap* heap_;
  LimitCalls& calls_;
  unsigned attempts_ = 0;
  bool asked_system_ = false;
  bool gave_all_ = false;
};

// Reads the container's limits again if the last reading is old, and updates ours. Returns true if
// memory is short in the container; then every thread has been asked to flush its caches. Requires:
// the caller holds no lock.
bool memory_is_short();

// Whether a new chunk may get huge pages under HugePages::kAuto. The chunk has `bytes` bytes and
// was mapped because `wanted` bytes were needed, when `mapped` bytes were mapped already.
bool chunk_may_be_huge(std::size_t bytes, std::size_t wanted, std::size_t mapped);

// ---- "memory fell" (heap_limit.cpp) -------------------------------------------------------------

// Called after a release that began with the footprint above the watched level
// (Footprint::set_bounds).
void memory_fell(std::size_t before, std::size_t after);

bool is_over_soft_limit();

// ---- "work is waiting" (helper.cpp) -------------------------------------------------------------

// The state of the helper thread (enum Helper in helper.hpp). An odd value tells the next slow path
// to start or wake the helper.
extern std::atomic<std::uint32_t> helper_word;

// Whether the call may start the helper thread. kYes requires that the caller holds no lock and has
// not begun to work on the thread's heap.
enum class MayStart : bool { kNo, kYes };
void call_helper_slow(MayStart may_start);

// relaxed: no other data is read because of the value. If this misses that the helper waits, the
// next slow path calls it; park() in helper.cpp covers the case that there is no next slow path.
inline bool helper_is_waiting() { return (helper_word.load(std::memory_order_relaxed) & 1) != 0; }

// Every slow path calls this when it holds no lock.
inline void call_helper(MayStart may_start) {
  if (helper_is_waiting()) [[unlikely]]
    call_helper_slow(may_start);
}

// Report what makes a helper thread worth its cost: two threads with heaps at the same time, and
// either much memory or many heaps. note_heaps() is called whenever a thread attaches a heap;
// `thread_is_new` says that it is the thread's first.
void note_heaps(std::size_t live, bool thread_is_new);
void note_mapped_bytes(std::size_t mapped);

// Tells the policy whether the main thread's exit hook will call end_helper(). Without that, the
// helper is not started.
void hook_main_thread(bool hooked);

// Ends the helper thread for good, and waits for it where the main thread's exit hook may.
void end_helper();

// ---- the process (process.cpp) ------------------------------------------------------------------

// Called whenever a heap is attached; the first call reads the environment and registers the fork
// handlers.
void set_up_process();

// ---- "I am about to take new memory" (idle_heaps.cpp) -------------------------------------------

// Takes the heaps apart that have rested for long enough (heap/registry.hpp): their slabs become
// orphans. Returns whether there were any. Requires: the caller holds no lock.
bool take_rested_heaps_apart();

}  // namespace corbel::alloc
