// SPDX-License-Identifier: Apache-2.0
// The work-stealing deque: its owner pushes and pops at the bottom, thieves take from the top.
//
// It is the deque of D. Chase and Y. Lev, "Dynamic Circular Work-Stealing Deque" (SPAA 2005), with
// the fence of the owner's pop moved to the thief: the thief's barrier makes every other thread of
// the process pass one (the asymmetric fence of M. Sutherland's and M. Dice's Dekker variants; on
// Linux membarrier(2)). Where the system has no such barrier, `slow` is set and both sides use
// sequentially consistent operations.
//
// Who gets an entry. A pop stores bottom = b (3) and then reads top (4). A thief reads top = t (5),
// passes the barrier, reads bottom (6) and claims t by moving top (7). Entry b can be claimed
// without the compare-and-swap by the pop only if it read t < b. Suppose a thief claims the same b,
// so that it read top = b in (5). Either the owner's (3) lies before the thief's barrier, then (6)
// reads b or less and the thief finds nothing, or (3) lies behind it, then so does (4), which
// therefore sees the top that the thief saw before the barrier, and t < b is false. When pop and
// thief meet on the last entry (t == b) both use the compare-and-swap and one wins.
//
// A barrier interrupts other processors, which takes microseconds in a virtual machine, so a thief
// does without one where it can: if the owner is known to have read top = t, which it tells with
// (8). All its later pops read t or more (coherence), so that they take entry t by the
// compare-and-swap or not at all; and a thief that reads (8) in (9) has seen the pops before it, so
// that (6) finds no entry that one of them took. That is the case whenever the deque was empty
// before the entry at its top was pushed, and soon after a theft if the owner goes on popping.
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

// `System` has kFirstLength, how many entries the first ring holds, a power of two; allocate(bytes)
// and deallocate(block), the memory of the rings. compiler_barrier() keeps the compiler from moving
// anything across, and process_barrier() makes every running thread of the process pass a full
// fence.
template <typename T, template <typename> class Atomic, typename System>
class basic_deque {
 public:
  using index = std::int64_t;

  // Whether a thief got something, or else why not: kLost means that somebody else was faster, so
  // there may be more.
  enum class found { kEmpty, kLost, kTaken };

  // With `slow`, the owner fences for itself and thieves need no process_barrier.
  explicit basic_deque(bool slow) : slow_(slow) {}
  ~basic_deque() {
    for (ring* r = ring_.load(std::memory_order_relaxed); r != nullptr;) {  // relaxed: nobody left
      ring* const older = r->older;
      System::deallocate(r);
      r = older;
    }
  }
  basic_deque(const basic_deque&) = delete;
  basic_deque& operator=(const basic_deque&) = delete;

  // ---- the owner's side --------------------------------------------------------------------

  // May throw what System::allocate throws, and has done nothing then.
  void push(T* entry) {
    const index b = bottom_.load(std::memory_order_relaxed);  // relaxed: only the owner writes it
    if (CORBEL_UNLIKELY(b == limit_)) make_room(b);
    ring* const r = ring_.load(std::memory_order_relaxed);  // relaxed: as above
    r->slot(b).store(entry, std::memory_order_relaxed);     // relaxed: published by (1)
    bottom_.store(b + 1, std::memory_order_release);        // (1) release: with (6)
  }

  // The newest entry that no thief has got; nullptr if there is none.
  T* pop() {
    if (CORBEL_LIKELY(!slow_)) return pop_fast();
    const index b = bottom_.load(std::memory_order_relaxed) - 1;  // relaxed: as in push
    // (3), (4) seq_cst: see above, with the place of the barrier taken by the total order
    bottom_.exchange(b, std::memory_order_seq_cst);
    return pop_below(b, top_.load(std::memory_order_seq_cst));
  }

  // The same, but a slow deque gives nothing.
  T* pop_fast() {
    if (CORBEL_UNLIKELY(slow_)) return nullptr;
    const index b = bottom_.load(std::memory_order_relaxed) - 1;  // relaxed: as in push
    // (3) release: what a thief learns about older entries does not depend on which of the owner's
    // stores it reads
    bottom_.store(b, std::memory_order_release);
    System::compiler_barrier();
    return pop_below(b, top_.load(std::memory_order_relaxed));  // (4) relaxed: the thief's barrier
  }

  // Called when the owner has learnt of a theft by other means than a pop, so that the next thief
  // needs no barrier.
  void see_thefts() {
    known_top_.store(top_.load(std::memory_order_relaxed),
                     std::memory_order_release);  // as (4), (8)
  }

  // ---- anybody's side ----------------------------------------------------------------------

  // The oldest entry.
  found steal(T** entry) {
    index t = top_.load(std::memory_order_seq_cst);  // (5) seq_cst: for `slow`; else (7) checks it
    if (t >= bottom_.load(std::memory_order_relaxed)) return found::kEmpty;  // relaxed: a guess
    // (9) acquire: with (8)
    if (!slow_ && known_top_.load(std::memory_order_acquire) != t) System::process_barrier();
    // (6) seq_cst: for `slow`; acquire else: sees what the owner wrote before (1)
    if (t >= bottom_.load(std::memory_order_seq_cst)) return found::kEmpty;
    ring* const r = ring_.load(std::memory_order_acquire);  // acquire: its length, with make_room
    T* const oldest = r->slot(t).load(std::memory_order_relaxed);  // relaxed: valid if (7) succeeds
    // (7) seq_cst: for `slow`; else release: the slot was read before make_room reuses it
    if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
      return found::kLost;
    }
    *entry = oldest;
    return found::kTaken;
  }

  // Forgets the entries, in the child of a fork: nobody is pushing or taking any more, although
  // somebody may have been. top_ never goes back.
  void clear() {
    // relaxed, all: the only thread
    const index top = top_.load(std::memory_order_relaxed);
    const index bottom = bottom_.load(std::memory_order_relaxed);
    const index end = top > bottom ? top : bottom;
    top_.store(end, std::memory_order_relaxed);
    bottom_.store(end, std::memory_order_relaxed);
    known_top_.store(end, std::memory_order_relaxed);
  }

  // Whether there seems to be something. True for sure only to a thread that has passed a
  // process_barrier since, or to the owner.
  bool seems_empty() const {
    return top_.load(std::memory_order_relaxed) >= bottom_.load(std::memory_order_relaxed);
  }

  // How often something was taken from the top; a thief that sees the same number again after a
  // while knows that the entry has lain there all the time.
  index taken() const { return top_.load(std::memory_order_relaxed); }

 private:
  struct ring {
    index mask;
    ring* older;  // thieves may still read it: freed with the deque

    Atomic<T*>& slot(index i) { return reinterpret_cast<Atomic<T*>*>(this + 1)[i & mask]; }
  };

  T* pop_below(index b, index t) {
    if (CORBEL_UNLIKELY(t >= b)) return pop_last(b, t);
    known_top_.store(t, std::memory_order_release);  // (8) release: what was popped, with (9)
    // relaxed: the owner's own
    return ring_.load(std::memory_order_relaxed)->slot(b).load(std::memory_order_relaxed);
  }

  CORBEL_NOINLINE T* pop_last(index b, index t) {
    T* last = nullptr;
    if (t == b) {
      last = ring_.load(std::memory_order_relaxed)->slot(b).load(std::memory_order_relaxed);
      // relaxed: decides against (7), orders nothing
      if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
        last = nullptr;
      }
    }
    bottom_.store(b + 1, std::memory_order_release);     // as (3)
    known_top_.store(b + 1, std::memory_order_release);  // as (8): top is there, whoever moved it
    return last;
  }

  CORBEL_NOINLINE void make_room(index b) {
    ring* const old = ring_.load(std::memory_order_relaxed);
    const index t = top_.load(std::memory_order_acquire);  // acquire: with (7), see there
    index length = old == nullptr ? 0 : old->mask + 1;
    if (b - t >= length) {
      length = length == 0 ? index(System::kFirstLength) : 2 * length;
      void* const block = System::allocate(sizeof(ring) + std::size_t(length) * sizeof(Atomic<T*>));
      ring* const larger = new (block) ring{length - 1, old};
      for (index i = 0; i < length; ++i) new (&larger->slot(i)) Atomic<T*>(nullptr);
      for (index i = t; i < b; ++i) {
        larger->slot(i).store(old->slot(i).load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
      }
      ring_.store(larger, std::memory_order_release);  // release: with the thief's load
    }
    limit_ = t + length;
  }

  // Thieves write this line,
  alignas(kCacheLine) Atomic<index> top_{0};
  // and the owner this one.
  alignas(kCacheLine) Atomic<index> bottom_{0};
  Atomic<index> known_top_{0};  // which the owner has seen
  index limit_ = 0;  // bottom_ must not go beyond: top_ as it was once, and the ring's length
  Atomic<ring*> ring_{nullptr};
  const bool slow_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_DEQUE_HPP
