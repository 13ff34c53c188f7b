// SPDX-License-Identifier: Apache-2.0
// Combining: threads hand operations on a shared object to whichever of them works on it. Not for
// programs to include.
#ifndef CORBEL_DETAIL_AGGREGATOR_HPP
#define CORBEL_DETAIL_AGGREGATOR_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/config.hpp>
#include <corbel/detail/wait_on_address.hpp>

namespace corbel {
namespace detail {

// After D. Hendler, I. Incze, N. Shavit, M. Tzafrir, "Flat Combining and the
// Synchronization-Parallelism Tradeoff" (2010), with a stack in place of the publication list.
//
// One word holds kIdle, or kBusy while a thread leads, or the newest of the operations that wait
// for the leader. A thread that finds kIdle becomes the leader; others push their operation and
// wait for its state to change. The leader handles its own operation, then all that have been
// pushed meanwhile, until there are none: then it stores kIdle. After kMaxBatches it passes the
// lead to the thread that has waited longest, so that no thread works for others without an end.
//
// There is one leader at a time: kIdle changes to kBusy by one thread's (1), and only the leader
// stores kIdle, with (4), or passes the lead, with (6). No operation is lost: a push (2) fails if
// (4) came first, and (4) fails if the push came first; then the leader takes it with (5). No
// thread sleeps forever: it sleeps only after it has changed its state from kWaits to kAsleep, and
// the thread that changes the state afterwards sees that and wakes it.
//
// The atomics and the system are parameters so that a model checker can run this very source
// (test/model/aggregator_model.cpp).
template <template <typename> class Atomic, typename System>
class basic_aggregator {
 public:
  // The base class of the operations. It lives in the frame of the thread that executes it.
  class operation {
   public:
    operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    // For handlers: the next operation of the list, or nullptr.
    operation* next() const noexcept { return next_; }

    // Called by the handler, once for each operation, after it has read next(). The object may be
    // gone when it returns.
    void finish() noexcept { change_state(kDone); }

   protected:
    operation* next_ = nullptr;

   private:
    friend class basic_aggregator;

    void change_state(std::uint32_t state) noexcept {
      // (3) release: publishes the result to (7)
      if (state_.exchange(state, std::memory_order_release) == kAsleep) System::wake_one(state_);
    }

    operation* batch_ = nullptr;  // what to handle, once the state is kLeads
    Atomic<std::uint32_t> state_{kWaits};
  };

  basic_aggregator() = default;
  basic_aggregator(const basic_aggregator&) = delete;
  basic_aggregator& operator=(const basic_aggregator&) = delete;

  // Has some thread call handler(list), with the operation in the list, and returns after it. Only
  // one thread at a time calls a handler, which must finish() each operation of the list, in any
  // order, and must not throw or execute an operation of the same object. All threads pass
  // handlers that do the same.
  template <typename Handler>
  void execute(operation& op, Handler&& handler) {
    // relaxed: no other thread knows the operation yet
    op.state_.store(kWaits, std::memory_order_relaxed);
    std::uintptr_t seen = pending_.load(std::memory_order_relaxed);  // relaxed: (1) and (2) decide
    for (;;) {
      if (seen == kIdle) {
        op.next_ = nullptr;
        // (1) acquire: sees what the last leader did before (4). relaxed on failure: tries again.
        if (pending_.compare_exchange_weak(seen, kBusy, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
          lead(&op, handler);
          return;
        }
      } else {
        op.next_ = seen == kBusy ? nullptr : reinterpret_cast<operation*>(seen);
        // (2) release: publishes the operation to (5), which reads this value or a later one of the
        // same release sequence. relaxed on failure: tries again.
        if (pending_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&op),
                                           std::memory_order_release, std::memory_order_relaxed)) {
          break;
        }
      }
    }
    if (wait(op) == kLeads) lead(op.batch_, handler);
  }

 private:
  enum : std::uintptr_t { kIdle = 0, kBusy = 1 };
  enum : std::uint32_t { kWaits, kAsleep, kLeads, kDone };
  static constexpr int kMaxBatches = System::kMaxBatches;

  template <typename Handler>
  void lead(operation* batch, Handler& handler) {
    for (int batches = 1;; ++batches) {
      handler(batch);
      std::uintptr_t seen = kBusy;
      // (4) release: publishes what the handlers did to (1). relaxed on failure: (5) follows.
      if (pending_.compare_exchange_strong(seen, kIdle, std::memory_order_release,
                                           std::memory_order_relaxed)) {
        return;
      }
      // (5) acquire: sees the operations pushed by (2)
      batch = reinterpret_cast<operation*>(pending_.exchange(kBusy, std::memory_order_acquire));
      if (batches == kMaxBatches) {
        operation* oldest = batch;
        while (oldest->next_ != nullptr) oldest = oldest->next_;
        oldest->batch_ = batch;
        oldest->change_state(kLeads);  // (6): (3) publishes what the handlers did, and the batch
        return;
      }
    }
  }

  // Returns kLeads or kDone.
  static std::uint32_t wait(operation& op) noexcept {
    for (int i = 0; i < System::kSpins; ++i) {
      System::pause(i);
      // (7) acquire: sees the result, or the batch, that was written before (3)
      const std::uint32_t state = op.state_.load(std::memory_order_acquire);
      if (state != kWaits) return state;
    }
    std::uint32_t state = kWaits;
    // acquire: on failure like (7). On success relaxed would do, but compilers warn of that.
    if (!op.state_.compare_exchange_strong(state, kAsleep, std::memory_order_acquire,
                                           std::memory_order_acquire)) {
      return state;
    }
    do {
      System::wait(op.state_, kAsleep);
      state = op.state_.load(std::memory_order_acquire);  // like (7)
    } while (state == kAsleep);
    return state;
  }

  Atomic<std::uintptr_t> pending_{kIdle};
};

struct aggregator_system : sleeping_wait {
  // The others wait for at least as long as the leader works for them, so even a few batches
  // save most of the changes of the lead.
  static constexpr int kMaxBatches = 16;
};

template <typename T>
using aggregator_atomic = std::atomic<T>;

using aggregator = basic_aggregator<aggregator_atomic, aggregator_system>;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_AGGREGATOR_HPP
