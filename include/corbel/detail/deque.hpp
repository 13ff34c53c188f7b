// SPDX-License-Identifier: Apache-2.0
// The work-stealing deque: its owner pushes and pops at the bottom, thieves take from the top.
//
// It is the deque of D. Chase and Y. Lev, "Dynamic Circular Work-Stealing Deque" (SPAA 2005), with
// the fence of the owner's pop moved to the thief: the thief's process barrier makes every other
// running thread of the process pass a fence (the asymmetric fence of M. Sutherland's and M. Dice's
// Dekker variants; on Linux membarrier(2)). Where the system has no such barrier, `slow` is set and
// both sides use sequentially consistent operations.
//
// Why only one thread gets an entry. A pop stores bottom = b (3) and then reads top = t (4). A
// thief reads top = t (5), passes the barrier, reads bottom (6) and claims entry t by advancing top
// (7). The pop takes entry b without a compare-and-swap only if it read t < b. Suppose that a thief
// claims the same entry b; then it read top = b in (5). Either (3) comes before the thief's
// barrier: then (6) reads b or less, and the thief finds the deque empty. Or (3) comes after the
// barrier: then so does (4), which therefore sees the top that the thief read before the barrier,
// and t < b is false. If pop and thief meet on the last entry (t == b), both use a
// compare-and-swap, and one succeeds.
//
// A barrier interrupts other processors, which takes microseconds in a virtual machine. A thief
// omits it if it knows that the owner has read top = t; the owner publishes the top it has read by
// (8). All later pops of the owner read t or more (coherence), so they take entry t by
// compare-and-swap or not at all. A thief that reads (8) by (9) has also seen the pops before it,
// so (6) finds no entry that one of those took. This applies whenever the deque was empty before
// the entry at its top was pushed, and soon after a theft if the owner continues to pop.
//
// The same source runs under a model checker (test/model/deque_model.cpp): the atomics and the
// system are parameters.
#ifndef CORBEL_DETAIL_DEQUE_HPP
#define CORBEL_DETAIL_DEQUE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// `System` provides: kFirstLength, the number of entries of the first ring, a power of two;
// allocate(bytes) and deallocate(block), the memory of the rings; compiler_barrier(), which the
// compiler moves no access across; process_barrier(), which makes every running thread of the
// process pass a full fence.
template <typename T, template <typename> class Atomic, typename System>
class basic_deque {
 public:
  using index = std::int64_t;

  // The result of a steal. kLost: another thread took the entry first, so there may be more.
  // kNeedsBarrier: there seems to be an entry, but none that can be taken without a barrier.
  enum class steal_result { kEmpty, kLost, kTaken, kNeedsBarrier };

  // With `slow`, the owner executes the fence itself and thieves need no process_barrier.
  explicit basic_deque(bool slow) : slow_(slow) {}
  ~basic_deque() {
    // relaxed: no other thread uses the deque any more
    for (ring* r = ring_.load(std::memory_order_relaxed); r != nullptr;) {
      ring* const older = r->older;
      System::deallocate(r);
      r = older;
    }
  }
  basic_deque(const basic_deque&) = delete;
  basic_deque& operator=(const basic_deque&) = delete;

  // ---- for the owner -----------------------------------------------------------------------

  // Adds the newest entry. Throws what System::allocate throws, and has done nothing then.
  void push(T* entry) {
    const index b = bottom_.load(std::memory_order_relaxed);  // relaxed: only the owner writes it
    if (CORBEL_UNLIKELY(b == limit_)) make_room(b);
    ring* const r = ring_.load(std::memory_order_relaxed);  // relaxed: only the owner writes it
    r->at(b).store(entry, std::memory_order_relaxed);       // relaxed: published by (1)
    // (1) release: publishes the entry, and what the owner wrote before, to (6)
    bottom_.store(b + 1, std::memory_order_release);
  }

  // Removes and returns the newest entry that no thief has taken; nullptr if there is none.
  T* pop() {
    if (CORBEL_LIKELY(!slow_)) return pop_fast();
    const index b = bottom_.load(std::memory_order_relaxed) - 1;  // relaxed: as in push
    // (10) seq_cst: takes the part of (3). In the total order, either it comes before a thief's
    // (6), which then reads b or less, or (11) comes after the thief's (5) and reads its top.
    bottom_.exchange(b, std::memory_order_seq_cst);
    // (11) seq_cst: takes the part of (4), see (10)
    return pop_below(b, top_.load(std::memory_order_seq_cst));
  }

  // Like pop, but returns nullptr for a slow deque.
  T* pop_fast() {
    if (CORBEL_UNLIKELY(slow_)) return nullptr;
    const index b = bottom_.load(std::memory_order_relaxed) - 1;  // relaxed: as in push
    // (3) release: a thief that reads this store by (6) sees the older entries, as if it had read
    // (1)
    bottom_.store(b, std::memory_order_release);
    System::compiler_barrier();
    // (4) relaxed: the thief's barrier orders it after (3)
    return pop_below(b, top_.load(std::memory_order_relaxed));
  }

  // Tells the thieves that the owner knows of the thefts so far, as a pop does: the next theft
  // needs no barrier. For an owner that pushes again without a pop in between.
  void acknowledge_thefts() {
    // (19) relaxed: as (4), all later pops of the owner read this top or a later one. (20) release:
    // takes the part of (8)
    known_top_.store(top_.load(std::memory_order_relaxed), std::memory_order_release);
  }

  // Returns the entry that was pushed last. Right after the push only: a thief may have it by now.
  T* newest() const {
    const index b = bottom_.load(std::memory_order_relaxed);  // relaxed: only the owner writes it
    // relaxed, both: only the owner writes them
    return ring_.load(std::memory_order_relaxed)->at(b - 1).load(std::memory_order_relaxed);
  }

  // ---- for any thread ----------------------------------------------------------------------

  // Removes the oldest entry and stores it in `*entry`, if the result is kTaken. Passes a barrier
  // only if it may.
  steal_result steal(T** entry, bool may_pass_barrier = true) {
    // (5) seq_cst: for `slow`, see (10). Else relaxed would do: (7) checks the value.
    index t = top_.load(std::memory_order_seq_cst);
    if (t >= bottom_.load(std::memory_order_relaxed))
      return steal_result::kEmpty;  // relaxed: a hint
    // (9) acquire: sees the pops before (8), (18) or (20), so that (6) does
    if (!slow_ && known_top_.load(std::memory_order_acquire) != t) {
      if (!may_pass_barrier) return steal_result::kNeedsBarrier;
      System::process_barrier();
    }
    // (6) seq_cst: for `slow`, see (10). Else acquire: sees what the owner wrote before (1).
    if (t >= bottom_.load(std::memory_order_seq_cst)) return steal_result::kEmpty;
    // (13) acquire: sees the ring's length and entries, which (14) published
    ring* const r = ring_.load(std::memory_order_acquire);
    T* const oldest = r->at(t).load(std::memory_order_relaxed);  // relaxed: valid if (7) succeeds
    // (7) seq_cst: for `slow`, see (10). Else release: the entry is read before make_room, which
    // acquires top_ by (15), lets a push overwrite it. relaxed on failure: nothing is read.
    if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
      return steal_result::kLost;
    }
    *entry = oldest;
    return steal_result::kTaken;
  }

  // Drops all entries, in the child of a fork. No thread uses the deque any more, but one may have
  // been inside a push, pop or steal. top_ never decreases.
  void clear() {
    // relaxed, all: there is only this thread
    const index top = top_.load(std::memory_order_relaxed);
    const index bottom = bottom_.load(std::memory_order_relaxed);
    const index end = top > bottom ? top : bottom;
    top_.store(end, std::memory_order_relaxed);
    bottom_.store(end, std::memory_order_relaxed);
    known_top_.store(end, std::memory_order_relaxed);
  }

  // Whether the system has no process barrier.
  bool is_slow() const { return slow_; }

  // Returns whether the deque seems empty. Exact only for the owner, and for a thread about the
  // time before a process_barrier that it has passed.
  bool seems_empty() const {
    // relaxed, both: a hint, see above
    return top_.load(std::memory_order_relaxed) >= bottom_.load(std::memory_order_relaxed);
  }

  // Returns how many entries have been taken from the top. A thief that later reads the same number
  // knows that the oldest entry is still the same.
  index taken() const {
    return top_.load(std::memory_order_relaxed);  // relaxed: only compared
  }

 private:
  friend struct debug_access;  // what the library tells debuggers

  struct ring {
    index mask;
    ring* older;  // freed with the deque, since thieves may still read it

    Atomic<T*>& at(index i) { return reinterpret_cast<Atomic<T*>*>(this + 1)[i & mask]; }
  };

  T* pop_below(index b, index t) {
    if (CORBEL_UNLIKELY(t >= b)) return pop_last(b, t);
    // (8) release: publishes the pops before it to (9)
    known_top_.store(t, std::memory_order_release);
    // relaxed, both: only the owner writes them
    return ring_.load(std::memory_order_relaxed)->at(b).load(std::memory_order_relaxed);
  }

  CORBEL_NOINLINE T* pop_last(index b, index t) {
    T* last = nullptr;
    if (t == b) {
      // relaxed, both: only the owner writes them
      last = ring_.load(std::memory_order_relaxed)->at(b).load(std::memory_order_relaxed);
      // (16) seq_cst: for `slow`, it advances top_ as (7) does. Else relaxed would do: it competes
      // with (7) and orders nothing. relaxed on failure: nothing is read.
      if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
        last = nullptr;
      }
    }
    // (17) release: restores bottom; a thief that reads it by (6) sees what it would see by (1)
    bottom_.store(b + 1, std::memory_order_release);
    // (18) release: like (8), publishes the pops before it to (9). top_ is b + 1 now, advanced by
    // the owner or a thief.
    known_top_.store(b + 1, std::memory_order_release);
    return last;
  }

  CORBEL_NOINLINE void make_room(index b) {
    ring* const old = ring_.load(std::memory_order_relaxed);  // relaxed: only the owner writes it
    // (15) acquire: the thieves' reads of the entries below t, before (7), come before the pushes
    // that overwrite them
    const index t = top_.load(std::memory_order_acquire);
    index length = old == nullptr ? 0 : old->mask + 1;
    if (b - t >= length) {
      length = length == 0 ? index(System::kFirstLength) : 2 * length;
      void* const block = System::allocate(sizeof(ring) + std::size_t(length) * sizeof(Atomic<T*>));
      ring* const larger = new (block) ring{length - 1, old};
      for (index i = 0; i < length; ++i) new (&larger->at(i)) Atomic<T*>(nullptr);
      for (index i = t; i < b; ++i) {
        // relaxed, both: only the owner writes entries, and (14) publishes the copies
        larger->at(i).store(old->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
      }
      ring_.store(larger, std::memory_order_release);  // (14) release: publishes the ring to (13)
    }
    limit_ = t + length;
  }

  // Thieves write this cache line.
  alignas(kCacheLine) Atomic<index> top_{0};
  // The owner writes this one.
  alignas(kCacheLine) Atomic<index> bottom_{0};
  Atomic<index> known_top_{0};  // a top that the owner has read
  index limit_ = 0;  // an upper bound of bottom_: an earlier top_ plus the length of the ring
  Atomic<ring*> ring_{nullptr};
  const bool slow_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_DEQUE_HPP
