// SPDX-License-Identifier: Apache-2.0
// Where other threads leave what belongs to one: a stack of chains that anybody pushes to and the
// owner empties as a whole (Treiber, 1986, without his ABA problem, which only popping single
// elements has), together with the word that says whether there is an owner.
//
// Who empties it when the owner is gone? An owner that leaves (a) stores kIdle, (b) empties the
// inbox once more, whether it looks empty or not. A sender (c) pushes, (d) reads the state. (b) and
// (c) are read-modify-writes of one word, so either (b) comes after (c) and finds the chain, or (c)
// reads what (b) wrote, directly or through other pushes and takes, each of which passes it on:
// then (a) happens before (d), and the sender sees that nobody is there and sees to the inbox
// itself. Every write to the word must stay a read-modify-write that acquires and releases.
//
// The atomics are a parameter so that a model checker can run this very source
// (test/model/inbox_model.cpp).
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::sync {

template <template <typename> class Atomic>
class BasicInbox {
 public:
  enum State : std::uint32_t {
    kIdle,    // no owner
    kLive,    // owned by a thread
    kShared,  // owned by whoever holds a lock
    kLost,    // the owner did not survive a fork; what is pushed is never seen again
  };

  explicit constexpr BasicInbox(State state = kIdle) : state_(state) {}

  // Pushes a chain. `link` is the word in its last element that leads to the next one: its address,
  // in the bits of kAddressMask; the other bits are kept. True if somebody has to empty the inbox
  // in the owner's place.
  bool push(std::uintptr_t first, std::uintptr_t* link) {
    const std::uintptr_t kept = *link & ~kAddressMask;
    std::uintptr_t head = chains_.load(std::memory_order_relaxed);  // relaxed: the swap checks it
    do {
      *link = head | kept;
      // (1) acq_rel: publishes the chain to (2), and sees (4) through it, which is (c) above.
      // relaxed on failure: tried again
    } while (!chains_.compare_exchange_weak(head, first, std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
    // relaxed: (3), (d) above; (1) has acquired what matters
    const std::uint32_t state = state_.load(std::memory_order_relaxed);
    return state == kIdle || state == kShared;
  }

  // Whether emptying is worth while; relaxed: take_all() synchronises, what is missed now is found
  // next time
  bool has_any() const { return chains_.load(std::memory_order_relaxed) != 0; }

  // All chains, the last pushed first, linked to one; 0 if there are none.
  std::uintptr_t take_all() {
    // (2) acq_rel: sees the chains published by (1), and publishes (4) to it, which is (b) above
    return chains_.exchange(0, std::memory_order_acq_rel);
  }

  // The chains as take_all() would find them, for the owner to look at, who has to keep those out
  // that may still empty the inbox because they saw it idle.
  std::uintptr_t first() const {
    return chains_.load(std::memory_order_acquire);  // (5) acquire: as (2), and takes nothing
  }

  // An owner that leaves must call take_all() afterwards.
  void set_state(State state) {
    state_.store(state, std::memory_order_relaxed);  // relaxed: (4), (a) above; (2) publishes it
  }

  // relaxed: for the owner itself, where no other thread exists, and for statistics
  State state() const { return State(state_.load(std::memory_order_relaxed)); }

  // Of an element: aligned to eight, in the address space of the supported systems.
  static constexpr std::uintptr_t kAddressMask = (std::uintptr_t(1) << 48) - 8;

 private:
  Atomic<std::uintptr_t> chains_{0};
  Atomic<std::uint32_t> state_;
};

using Inbox = BasicInbox<std::atomic>;

}  // namespace corbel::sync
