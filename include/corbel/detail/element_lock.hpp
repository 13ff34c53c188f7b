// SPDX-License-Identifier: Apache-2.0
// The lock of one element of a concurrent map, which also decides which thread destroys the
// element. Not for programs to include.
#ifndef CORBEL_DETAIL_ELEMENT_LOCK_HPP
#define CORBEL_DETAIL_ELEMENT_LOCK_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// A reader-writer lock that is never waited for here: its caller backs off and looks for the
// element again. The word:
//
//   kWriter   a writer is inside
//   kClaimed  a writer found readers inside: no reader follows them until they have left
//   kDead     the element was erased: no thread enters any more
//   kGone     the element is being destroyed, or was
//   kPin      times the number of threads that read the key without being inside
//   kReader   times the number of readers inside
//
// A reader or pin enters by adding itself and leaves again if it should not have. A count of pins
// that overflows into the readers is taken back by the pins that leave, since both are sums.
//
// Exactly one thread destroys a dead element: the one that sets kGone, which it sets only together
// with seeing that no thread is inside and none pins. Each thread that leaves, and the one that
// sets kDead, looks whether that is so after its own step; in the modification order of the word
// there is a last such step, whose thread sees it. A thread that enters afterwards sees kDead and
// leaves, which changes nothing for it but the count: kGone is set.
//
// So a thread that enters, leaves or kills may touch the word once more when another thread has
// destroyed the element already. It does so in a reading section that began while the element could
// be reached or the thread was inside, and the word is freed when all such sections have ended (see
// epoch.hpp): the step of the thread comes before (3) and so before the word is retired. Entering
// under the lock of the bucket needs no section: a linked element is alive.
//
// All changes are read-modify-writes, so each release heads a release sequence that every later
// acquire reads from.
//
// The atomics are a parameter so that a model checker can run this very source
// (test/model/hash_map_model.cpp).
template <template <typename> class Atomic>
class basic_element_lock {
 public:
  static constexpr std::uint32_t kWriter = 1;
  static constexpr std::uint32_t kPin = 16;
  static constexpr std::uint32_t kReader = std::uint32_t{1} << 14;

  // kLast: the element is dead, and the caller has to destroy it.
  enum class outcome : std::uint8_t { kHeld, kBusy, kDead, kLast };

  // `holder`: 0, or the kWriter or kReader that is inside from the beginning.
  explicit basic_element_lock(std::uint32_t holder) noexcept : word_(holder) {}

  // Tries to enter as `kHolder`: kWriter, kReader or kPin. A pin is never kBusy.
  template <std::uint32_t kHolder>
  outcome try_enter() noexcept {
    return kHolder == kWriter ? try_write() : try_add(kHolder);
  }

  // Leaves. Returns whether the caller has to destroy the element.
  bool leave(std::uint32_t holder) noexcept {
    // (2) release: publishes to (1), and to (3), what the holder did
    const std::uint32_t left = word_.fetch_sub(holder, std::memory_order_release) - holder;
    return CORBEL_UNLIKELY((left & kDead) != 0) && take_over(left);
  }

  // Whether the element was erased. The caller holds the lock of its bucket, as does the one that
  // calls kill().
  bool is_dead() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kDead) != 0;  // relaxed: that lock publishes it
  }

  // Makes the element, which is alive, dead. Returns whether the caller has to destroy it, which is
  // so unless a thread is inside or pins it.
  bool kill() noexcept {
    std::uint32_t free = 0;
    // (3) acquire: sees what came before (2)
    if (word_.compare_exchange_strong(free, kDead | kGone, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
      return true;
    }
    // (2) release: publishes what threads did that compared the key under the lock of the bucket
    return take_over(word_.fetch_or(kDead, std::memory_order_release) | kDead);
  }

  // The same for a caller that is inside as `holder`, which it leaves.
  bool kill_and_leave(std::uint32_t holder) noexcept {
    const std::uint32_t change = kDead - holder;  // modulo 2^32
    // (2) release: as in leave()
    return take_over(word_.fetch_add(change, std::memory_order_release) + change);
  }

 private:
  static constexpr std::uint32_t kClaimed = 2;
  static constexpr std::uint32_t kDead = 4;
  static constexpr std::uint32_t kGone = 8;
  static constexpr std::uint32_t kReaders = ~(kReader - 1);

  outcome try_write() noexcept {
    // Free, as a rule: then the first step on the cache line, which is often far away, is the last.
    std::uint32_t seen = 0;
    for (;;) {
      if ((seen & kDead) != 0) return outcome::kDead;
      if ((seen & kWriter) != 0) return outcome::kBusy;
      if ((seen & kReaders) != 0) {
        // relaxed: publishes nothing. A writer that claims and does not come back keeps out only
        // the readers that meet others inside.
        if ((seen & kClaimed) == 0) {
          word_.compare_exchange_strong(seen, seen | kClaimed, std::memory_order_relaxed,
                                        std::memory_order_relaxed);
        }
        return outcome::kBusy;
      }
      // (1) acquire: sees what was done before (2). relaxed on failure: tried again.
      if (word_.compare_exchange_weak(seen, (seen & ~kClaimed) | kWriter, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return outcome::kHeld;
      }
    }
  }

  outcome try_add(std::uint32_t holder) noexcept {
    // (1) acquire: sees what was done before (2)
    const std::uint32_t seen = word_.fetch_add(holder, std::memory_order_acquire);
    const std::uint32_t hinders = holder == kPin ? kDead : kDead | kWriter | kClaimed;
    if (CORBEL_LIKELY((seen & hinders) == 0)) return outcome::kHeld;
    if ((seen & (kDead | kWriter | kReaders)) == 0) {
      word_.fetch_and(~kClaimed, std::memory_order_relaxed);  // relaxed: publishes nothing
      return outcome::kHeld;
    }
    if (leave(holder)) return outcome::kLast;
    return (seen & kDead) != 0 ? outcome::kDead : outcome::kBusy;
  }

  // `seen` is what the caller's step made of the word.
  bool take_over(std::uint32_t seen) noexcept {
    while ((seen & ~kClaimed) == kDead) {
      // (3) acquire: sees what came before (2), all that the holders did. relaxed on failure: the
      // thread that changed the word looks after it.
      if (word_.compare_exchange_weak(seen, seen | kGone, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  Atomic<std::uint32_t> word_;
};

template <template <typename> class Atomic>
constexpr std::uint32_t basic_element_lock<Atomic>::kWriter;
template <template <typename> class Atomic>
constexpr std::uint32_t basic_element_lock<Atomic>::kPin;
template <template <typename> class Atomic>
constexpr std::uint32_t basic_element_lock<Atomic>::kReader;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ELEMENT_LOCK_HPP
