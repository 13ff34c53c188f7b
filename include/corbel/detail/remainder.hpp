// SPDX-License-Identifier: Apache-2.0
// What is left of a piece of a loop: its owner takes from the front, thieves from the back. Not for
// programs to include.
//
// The numbers from begin_ to end_ are left. The owner claims the next of them by a plain store to
// begin_ (1), and then reads the limit (2), which equals end_. Thieves exclude each other by a
// lock. A thief lowers the limit (3), passes a process barrier, and then reads begin_ (4). It is
// the T.H.E. protocol of M. Frigo, C. Leiserson and K. Randall, "The Implementation of the Cilk-5
// Multithreaded Language" (PLDI 1998), with the fence of the owner moved to the thief, as in
// deque.hpp.
//
// Why no number is taken twice. Suppose that the owner claims what lies before `next`, and a thief
// takes what lies from `cut` on, where cut < next. Either (1) comes before the thief's barrier:
// then (4) reads `next` or a later value, and the thief takes nothing before that. Or (1) comes
// after the barrier: then so does (2), which therefore reads `cut` or less, and the owner claims
// nothing but takes the lock and looks again. A thief that has met the owner chooses a new cut,
// from (4) on, and needs no second barrier: what the owner claims after the barrier, it claims with
// the lowered limit or with the new one.
//
// The owner may put numbers back by lowering begin_ (5), and with them what they stand for: a thief
// that reads (5) or a later claim by (4) sees that. A thief that has found nothing gives up: it
// sets the limit to 0 (6), passes a process barrier and looks again (7). An owner that puts back
// reads the limit afterwards (8). Either the thief finds what was put back, or the owner sees that
// it was given up.
//
// Where the system has no process barrier, the limit that the owner reads is always 0, and it does
// all this under the lock.
//
// The same source runs under a model checker (test/model/remainder_model.cpp).
#ifndef CORBEL_DETAIL_REMAINDER_HPP
#define CORBEL_DETAIL_REMAINDER_HPP

#include <atomic>
#include <cstddef>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// `System` is as for basic_deque.
template <template <typename> class Atomic, typename System>
class basic_remainder {
 public:
  using index = std::size_t;

  // With `slow`, the owner claims under the lock only.
  basic_remainder(index begin, index end, bool slow)
      : begin_(begin), limit_(slow ? 0 : end), end_(end), slow_(slow) {}
  basic_remainder(const basic_remainder&) = delete;
  basic_remainder& operator=(const basic_remainder&) = delete;

  // ---- for the owner -----------------------------------------------------------------------

  // Claims what lies before `next`. If it returns false, the owner has claimed nothing and calls
  // settle.
  bool claim(index next) {
    // (1) release: a thief that reads this by (4) sees what it would see by (5)
    begin_.store(next, std::memory_order_release);
    System::compiler_barrier(begin_, limit_);
    // (2) relaxed: the barrier orders it after (1)
    return next <= limit_.load(std::memory_order_relaxed);
  }

  // Where the owner, whose next number is `begin`, may now expect the end that was `end`: a hint.
  index known_end(index begin, index end) const {
    const index limit = limit_.load(std::memory_order_relaxed);  // relaxed: a hint
    return limit < begin ? end : limit;
  }

  // Adds the number before `begin`, which is where what is left begins. If it returns false, the
  // owner calls reopen.
  bool put_back(index begin) {
    // (5) release: publishes what the owner wrote before to (4) and (7)
    begin_.store(begin - 1, std::memory_order_release);
    System::compiler_barrier(begin_, limit_);
    // (8) relaxed: the barrier orders it after (5)
    return limit_.load(std::memory_order_relaxed) != 0;
  }

  // Under the lock, after put_back: returns whether a thief had given up. It has not any more.
  bool reopen() {
    const bool was_given_up = is_given_up_;
    is_given_up_ = false;
    lower(end_);
    return was_given_up;
  }

  // Under the lock: claims what lies from `begin` up to `next`; if a thief has taken some of it,
  // claims nothing and returns false. Stores the end of what is left.
  bool settle(index begin, index next, index* end) {
    *end = end_;
    const bool is_left = next <= end_;
    begin_.store(is_left ? next : begin, std::memory_order_release);  // release: as (1)
    return is_left;
  }

  // ---- for the thread that holds the lock
  // ----------------------------------------------------------

  // Takes what lies from choose(begin, end) on. `choose` returns a number from begin on, before
  // end. Returns false if nothing is left.
  template <typename Choose>
  bool take(const Choose& choose, index* from, index* to) {
    const index end = end_;
    // relaxed: a first guess
    index begin = begin_.load(std::memory_order_relaxed);
    if (begin >= end) return false;
    index cut = choose(begin, end);
    lower(cut);
    if (!slow_) System::process_barrier();
    // (4) acquire: sees what the owner wrote before (1) or (5)
    begin = begin_.load(std::memory_order_acquire);
    if (CORBEL_UNLIKELY(begin > cut)) {
      cut = begin < end ? choose(begin, end) : end;
      lower(cut);
    }
    *from = cut;
    *to = end;
    return cut < end;
  }

  // For a thief that could take nothing. Returns false if something is left after all; else the
  // owner learns by put_back that no thief will come.
  bool give_up() {
    // (6) relaxed: the process barrier orders it before (7)
    limit_.store(0, std::memory_order_relaxed);
    if (!slow_) System::process_barrier();
    // (7) acquire: as (4)
    is_given_up_ = begin_.load(std::memory_order_acquire) >= end_;
    if (!is_given_up_) lower(end_);
    return is_given_up_;
  }

  // Leaves nothing. The owner calls it when it claims no more.
  void close() {
    // relaxed, both: the lock orders them
    lower(begin_.load(std::memory_order_relaxed));
  }

  index end() const { return end_; }
  // Exact if the owner does not claim meanwhile.
  index begin() const { return begin_.load(std::memory_order_relaxed); }  // relaxed: see above

 private:
  // Sets the end.
  void lower(index end) {
    end_ = end;
    // (3) relaxed: the process barrier orders it before (4)
    if (!slow_) limit_.store(end, std::memory_order_relaxed);
  }

  Atomic<index> begin_;
  Atomic<index> limit_;
  index end_;                 // protected by the lock
  bool is_given_up_ = false;  // protected by the lock
  const bool slow_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_REMAINDER_HPP
