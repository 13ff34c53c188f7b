// SPDX-License-Identifier: Apache-2.0
// How many tasks of a group are outstanding, where one thread, the owner, makes and ends most of
// them: it counts with plain stores, the others with a word of their own. Not for programs to
// include.
//
// The number is own_ + foreign_; either may be negative, the sum never is.
//
// When is it zero? The owner changes own_ and nobody else; every change of foreign_ makes it a
// value that it did not have before. So if foreign_ is the same before and after a look at own_,
// the sum is what it was at the moment of that look, and zero is for good: there is nothing left
// that could make new tasks.
//
// Who sleeps until then has announced it in worker::waiting, passed a process barrier and looked
// (wait_until). A release that the look did not see lies behind the barrier, and so does the load
// of worker::waiting behind it, which finds the announcement. There are two kinds:
//   A release that saw nobody announced before it changes the sum, and somebody after it, tells the
// sleeper without knowing whether the sum is zero: it may not look any more, as the group may be
// gone.
//   A release that saw somebody announced before is a watched one. It is counted in inside_ while
// it looks whether the sum is zero, and nobody ends a wait meanwhile. Of all releases that the
// sleeper's look did not see take the last one in the order in which they reach memory. If it is
// watched it finds zero: of two watched ones the later sees the earlier, as change and look are
// sequentially consistent; unwatched ones that were not seen have woken the sleeper, whose next
// look begins the argument anew with fewer; and those that were seen lie before the barrier.
#ifndef CORBEL_DETAIL_GROUP_COUNT_HPP
#define CORBEL_DETAIL_GROUP_COUNT_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

class group_count {
 public:
  // The thread that makes it owns it; if that has not used the library yet, the first to reserve.
  group_count() : owner_(this_worker) {}
  group_count(const group_count&) = delete;
  group_count& operator=(const group_count&) = delete;

  // Who reserves makes sure that the count does not come to its end before, as for wait_count.
  void reserve(worker& w) {
    if (CORBEL_LIKELY(is_own(w))) {
      // relaxed: its own; release: as (1), which a later value stands for
      own_.store(own_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    } else {
      foreign_.fetch_add(kReserved, std::memory_order_relaxed);  // relaxed: as in wait_count
    }
  }

  // With the last release whoever waits goes on, and the object may be gone.
  void release(worker& w) {
    // relaxed: see above; whoever is missed here is found by notify_waiters
    if (CORBEL_UNLIKELY(w.waiting->load(std::memory_order_relaxed) != 0)) {
      release_watched(w);
      return;
    }
    const void* const key = this;
    if (CORBEL_LIKELY(is_own(w))) {
      // (1) release: what the tasks did, with (3); relaxed: its own
      own_.store(own_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    } else {
      foreign_.fetch_add(kReleased, std::memory_order_release);  // (2) release: with (3)
    }
    notify_waiters(w, key);
  }

  bool is_done() const {
    std::uint64_t before = foreign_.load(std::memory_order_acquire);  // (3) acquire: with (1), (2)
    for (;;) {
      const std::uint32_t own = own_.load(std::memory_order_acquire);  // (3), and before the next
      if (own + std::uint32_t(before) != 0) return false;
      const std::uint64_t after = foreign_.load(std::memory_order_acquire);  // (3)
      if (after == before) break;
      before = after;
    }
    // acquire: with (4). A release that looks does not do so for long.
    if (CORBEL_UNLIKELY(inside_.load(std::memory_order_acquire) != 0)) {
      spin_until([this] { return inside_.load(std::memory_order_acquire) == 0; });
    }
    return true;
  }

  // Runs tasks until all are released; most of them belong to `group`.
  void wait(worker& w, context_node& group) const {
    if (is_done() ? !w.has_stacks : run_own(w, group, [this] { return is_done(); })) return;
    wait_until(w, this, &is_done_at);
  }

 private:
  // The upper half of foreign_ is there to make every value a new one.
  enum : std::uint64_t {
    kReserved = (std::uint64_t{1} << 32) + 1,
    kReleased = (std::uint64_t{1} << 32) + 0xffffffff
  };

  bool is_own(worker& w) {
    // relaxed: nobody reads this thread's own address but what it wrote itself. Where the thread
    // has ended and another got its place, that one comes after it in all.
    worker* owner = owner_.load(std::memory_order_relaxed);
    if (CORBEL_LIKELY(owner == &w)) return true;
    return owner == nullptr && owner_.compare_exchange_strong(owner, &w, std::memory_order_relaxed,
                                                              std::memory_order_relaxed);
  }

  CORBEL_EXPORT void release_watched(worker& w) noexcept;
  static bool is_done_at(const void* key) {
    return static_cast<const group_count*>(key)->is_done();
  }

  std::atomic<worker*> owner_;
  std::atomic<std::uint32_t> own_{0};
  std::atomic<std::uint32_t> inside_{0};
  alignas(kCacheLine) std::atomic<std::uint64_t> foreign_{0};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_GROUP_COUNT_HPP
