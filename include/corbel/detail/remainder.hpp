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
// A process barrier interrupts the owner and takes up to 10 us. So an owner that begins shares what
// lies from shared_ on: it claims that under the lock only, and thieves take it under the lock,
// without a barrier. At first it shares all but its first numbers, and once it has run those,
// nothing. Then a thief asks first: it sets the limit to 0 (6) and watches the owner for a moment.
// The owner's next claim fails; under the lock the owner shares the second half of what is left. If
// the owner does not answer, because it is inside a long body, the thief lowers the limit.
//
// The owner may put numbers back by lowering begin_ (5), and with them what they stand for: a thief
// that reads (5) or a later claim by (4) sees that. A thief that has found nothing, also after it
// asked, gives up: it passes a process barrier and looks again (7). An owner that puts back reads
// the limit afterwards (8). Either the thief finds what was put back, or the owner sees the 0.
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

// `System` is as for basic_deque; and pause() waits a little, kMaxPauses times at most while the
// owner does not go on.
template <template <typename> class Atomic, typename System>
class basic_remainder {
 public:
  using index = std::size_t;

  // With `slow`, the owner claims under the lock only.
  basic_remainder(index begin, index end, bool slow)
      : bounds_{{begin}, {slow ? 0 : end}}, end_(end), shared_(end), slow_(slow) {}
  basic_remainder(const basic_remainder&) = delete;
  basic_remainder& operator=(const basic_remainder&) = delete;

  // ---- for the owner -----------------------------------------------------------------------

  // Claims what lies before `next`. If it returns false, the owner has claimed nothing and calls
  // settle.
  bool claim(index next) {
    // (1) release: a thief that reads this by (4) sees what it would see by (5)
    bounds_.begin.store(next, std::memory_order_release);
    System::compiler_barrier(bounds_);
    // (2) relaxed: the barrier orders it after (1)
    return next <= bounds_.limit.load(std::memory_order_relaxed);
  }

  // Shares what lies from `begin` on, the owner's next number. While no thief can come.
  void share(index begin) {
    shared_ = begin;
    // relaxed: what lets thieves come publishes it
    if (!slow_) bounds_.limit.store(begin, std::memory_order_relaxed);
  }

  // Where the owner, whose next number is `begin`, may now expect the end that was `end`: a hint.
  index known_end(index begin, index end) const {
    const index limit = bounds_.limit.load(std::memory_order_relaxed);  // relaxed: a hint
    return begin < limit && limit < end ? limit : end;
  }

  // Adds the number before `begin`, which is where what is left begins. If it returns false, the
  // owner calls reopen.
  bool put_back(index begin) {
    // (5) release: publishes what the owner wrote before to (4) and (7)
    bounds_.begin.store(begin - 1, std::memory_order_release);
    System::compiler_barrier(bounds_);
    // (8) relaxed: the barrier orders it after (5)
    return bounds_.limit.load(std::memory_order_relaxed) != 0;
  }

  // Under the lock, after put_back: answers a thief that asks with what lies from
  // choose(begin, end) on. Returns whether a thief had given up. It has not any more.
  template <typename Choose>
  bool reopen(const Choose& choose) {
    const bool was_given_up = is_given_up_;
    is_given_up_ = false;
    answer(begin(), choose);
    return was_given_up;
  }

  // Under the lock: claims what lies from `begin` up to `next`; if a thief has taken some of it,
  // claims nothing and returns false. Stores the end of what is left. Answers a thief that asks
  // with what lies from choose(begin, end) on; the end, if there is nothing for it.
  template <typename Choose>
  bool settle(index begin, index next, const Choose& choose, index* end) {
    const bool is_left = next <= end_;
    if (is_left) begin = next;
    bounds_.begin.store(begin, std::memory_order_release);  // release: as (1)
    answer(begin, choose);
    *end = end_;
    return is_left;
  }

  // ---- for thieves ---------------------------------------------------------------------------

  // Under the lock: takes what the owner shares, or what lies from choose(begin, end) on. `choose`
  // returns a number from begin on, before end. Returns false if nothing is left; with `may_grow`
  // only after it has asked, as the owner may put back. Calls unlocked(f), which calls f without
  // the lock.
  template <typename Choose, typename Unlocked>
  bool take(const Choose& choose, bool may_grow, const Unlocked& unlocked, index* from, index* to) {
    index begin = 0;
    for (bool is_answered = !slow_;;) {
      if (shared_ < end_) {
        // What was shared for this thief is divided already.
        *from = is_asked_ ? shared_ : choose(shared_, end_);
        *to = end_;
        end_ = *from;
        is_asked_ = false;
        return true;
      }
      begin = bounds_.begin.load(std::memory_order_relaxed);  // relaxed: a first guess
      if (begin >= end_ && (!may_grow || is_closed_ || !is_answered)) return false;
      if (!is_answered) break;
      is_asked_ = true;
      // (6) relaxed: either the owner answers under the lock, or the process barrier orders it
      bounds_.limit.store(0, std::memory_order_relaxed);
      unlocked([&] { is_answered = await_answer(); });
    }
    is_asked_ = false;
    const index end = end_;
    index cut = choose(begin, end);
    lower(cut);
    if (!slow_) System::process_barrier();
    // (4) acquire: sees what the owner wrote before (1) or (5)
    begin = bounds_.begin.load(std::memory_order_acquire);
    if (CORBEL_UNLIKELY(begin > cut)) {
      cut = begin < end ? choose(begin, end) : end;
      lower(cut);
    }
    *from = cut;
    *to = end;
    return cut < end;
  }

  // Under the lock, for a thief that could take nothing. Returns false if something is left after
  // all; else the owner learns by put_back that no thief will come.
  bool give_up() {
    if (is_closed_) return true;
    is_asked_ = false;
    // relaxed: the process barrier orders it before (7)
    bounds_.limit.store(0, std::memory_order_relaxed);
    if (!slow_) System::process_barrier();
    // (7) acquire: as (4)
    is_given_up_ = bounds_.begin.load(std::memory_order_acquire) >= end_;
    if (!is_given_up_) lower(end_);
    return is_given_up_;
  }

  // Under the lock: leaves nothing. The owner calls it when it claims no more.
  void close() {
    is_closed_ = true;
    lower(begin());
  }

  index end() const { return end_; }
  // Exact if the owner does not claim meanwhile.
  index begin() const {
    return bounds_.begin.load(std::memory_order_relaxed);  // relaxed: see above
  }

 private:
  // Watches the owner for a moment. Returns whether it has answered, or has closed.
  bool await_answer() const {
    index last = begin();
    for (int pauses = 0; pauses < System::kMaxPauses; ++pauses) {
      if (bounds_.limit.load(std::memory_order_relaxed) != 0) return true;  // relaxed: a hint
      System::pause();
      const index now = begin();
      // An owner that goes on reads the limit soon.
      if (now != last) pauses = 0;
      last = now;
    }
    return false;
  }

  // Lets the owner claim what is left; but if a thief asks, only what lies before
  // choose(begin, end).
  template <typename Choose>
  void answer(index begin, const Choose& choose) {
    shared_ = is_asked_ && begin < end_ ? choose(begin, end_) : end_;
    // A thief that has given up leaves 0 until the owner puts back. relaxed: the lock orders it
    if (!slow_ && !is_given_up_) bounds_.limit.store(shared_, std::memory_order_relaxed);
  }

  // Sets the end.
  void lower(index end) {
    end_ = end;
    shared_ = end;
    // (3) relaxed: the process barrier orders it before (4)
    if (!slow_) bounds_.limit.store(end, std::memory_order_relaxed);
  }

  struct {
    Atomic<index> begin;
    Atomic<index> limit;
  } bounds_;
  // The lock protects these.
  index end_;
  index shared_;  // from here to the end, the owner claims under the lock only
  bool is_asked_ = false;
  bool is_given_up_ = false;
  bool is_closed_ = false;
  const bool slow_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_REMAINDER_HPP
