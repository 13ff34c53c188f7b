// SPDX-License-Identifier: Apache-2.0
// The threads that wait at one side of a concurrent_bounded_queue. Not for programs to include.
#ifndef CORBEL_DETAIL_QUEUE_WAITERS_HPP
#define CORBEL_DETAIL_QUEUE_WAITERS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// A thread that waits counts itself, sets the mark of its side in the queue (see segment_queue),
// looks once more, and sleeps. A thread that sees the mark takes it and gives the signal, a bit
// that ends one sleep. So a side that does not wait costs the other side nothing but a look at a
// word that it has read anyway.
//
// No wake-up is lost. One mark and one signal may stand for several waiting threads and several
// events, so whichever thread takes the signal hands on: when it is through, and others were
// counted when it stopped counting itself, it sets the mark again, looks, and gives the signal
// again if there is something left. A thread that counts itself later sets the mark later: the
// count orders the two.
//
// abort() changes the word besides the signal, so no sleep on the older value begins or goes on.
template <template <typename> class Atomic, typename System>
class queue_waiters {
 public:
  using generation = std::uint32_t;

  // What abort() changes.
  generation now() const noexcept {
    return word_.load(std::memory_order_acquire) & ~kSignal;  // (1) acquire: with (5)
  }

  // How many threads are counted.
  std::ptrdiff_t count() const noexcept {
    return count_.load(std::memory_order_acquire);  // (2) acquire: with (3)
  }

  // Counts the calling thread.
  void enter() noexcept {
    count_.fetch_add(1, std::memory_order_acq_rel);  // (3) acq_rel: with itself and (4)
  }
  // No longer counts it. Returns whether others are counted.
  bool leave() noexcept {
    return count_.fetch_sub(1, std::memory_order_acq_rel) != 1;  // (4) acq_rel: with (3)
  }

  // Sleeps until there is a signal, which it takes, or an abort() after `since`.
  void sleep(generation since) noexcept {
    System::wait(word_, since);
    // (6) acquire: sees what came before the signal (7)
    word_.fetch_and(~kSignal, std::memory_order_acquire);
  }

  // Gives the signal.
  void signal() noexcept {
    // (7) release: publishes what the sleeping thread is to see to (6)
    if ((word_.fetch_or(kSignal, std::memory_order_acq_rel) & kSignal) == 0) {
      System::wake_one(word_);
    }
  }

  // Ends the sleep of all threads.
  void abort() noexcept {
    word_.fetch_add(kAbort, std::memory_order_acq_rel);  // (5) release: to (1)
    System::wake_all(word_);
  }

 private:
  static constexpr std::uint32_t kSignal = 1;
  static constexpr std::uint32_t kAbort = 2;

  Atomic<std::uint32_t> word_{0};
  Atomic<std::ptrdiff_t> count_{0};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_QUEUE_WAITERS_HPP
