// SPDX-License-Identifier: Apache-2.0
// The inbox of an owner: a stack of chains that any thread pushes to and the owner empties as a
// whole, and a word that says whether there is an owner. The stack is Treiber's (1986); it has no
// ABA problem, because no thread pops a single element.
//
// Which thread empties the inbox when the owner is gone? An owner that leaves (a) stores kIdle,
// then (b) empties the inbox once more, whether it looks empty or not. A sender (c) pushes, then
// (d) reads the state. (b) and (c) are read-modify-writes of one word, so one of them comes first.
// Either (c) does, and (b) finds the chain. Or (b) does, and (c) reads what (b) wrote, directly or
// through other pushes and takes, each of which passes it on: then (a) happens before (d), and the
// sender sees that there is no owner and empties the inbox itself. Every write to the word must
// therefore be a read-modify-write that acquires and releases.
//
// The atomics are a parameter, so that a model checker runs this very source
// (test/model/inbox_model.cpp).
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::alloc {
struct DebugAccess;  // alloc/report/debug_layout.cpp
}

namespace corbel::sync {

template <template <typename> class Atomic>
class BasicInbox {
 public:
  enum State : std::uint32_t {
    kIdle,    // no owner
    kLive,    // owned by a thread
    kShared,  // owned by the thread that holds a certain lock
    kLost,    // the owner did not survive a fork; no thread reads what is pushed
  };

  explicit constexpr BasicInbox(State state = kIdle) : state_(state) {}

  // Pushes the chain that begins at `first`. `link` is the word in its last element that will hold
  // the address of the next element, in the bits of kAddressMask; its other bits are kept. Returns
  // true if there is no owner, so that the caller must have the inbox emptied.
  bool push(std::uintptr_t first, std::uintptr_t* link) {
    const std::uintptr_t kept = *link & ~kAddressMask;
    std::uintptr_t head = chains_.load(std::memory_order_relaxed);  // relaxed: (1) checks it
    do {
      *link = head | kept;
      // (1) acq_rel, (c) above: publishes the chain to (2) and (5), and sees (4) through (2).
      // relaxed on failure: the loop tries again
    } while (!chains_.compare_exchange_weak(head, first, std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
    // (3) relaxed, (d) above: if (1) comes after (2), it has acquired (4)
    const std::uint32_t state = state_.load(std::memory_order_relaxed);
    return state == kIdle || state == kShared;
  }

  // Whether take_all() is worth calling. relaxed: take_all() synchronises, and a chain that this
  // misses is found next time
  bool has_any() const { return chains_.load(std::memory_order_relaxed) != 0; }

  // Removes all chains and returns them linked to one, the last pushed first; 0 if there are none.
  std::uintptr_t take_all() {
    // (2) acq_rel, (b) above: sees the chains published by (1), and publishes (4) to (1)
    return chains_.exchange(0, std::memory_order_acq_rel);
  }

  // What take_all() would return, without removing it. For the owner only. It must exclude the
  // senders that saw kIdle before it came and may still empty the inbox.
  std::uintptr_t first() const {
    return chains_.load(std::memory_order_acquire);  // (5) acquire: sees the chains of (1)
  }

  // An owner that leaves sets kIdle and must call take_all() afterwards.
  void set_state(State state) {
    state_.store(state, std::memory_order_relaxed);  // (4) relaxed, (a) above: (2) publishes it
  }

  // relaxed: read by the owner itself, where no other thread exists, and for statistics
  State state() const { return State(state_.load(std::memory_order_relaxed)); }

  // The bits of an element's address: it is a multiple of 8, in the supported address spaces.
  static constexpr std::uintptr_t kAddressMask = (std::uintptr_t(1) << 48) - 8;

 private:
  friend alloc::DebugAccess;

  Atomic<std::uintptr_t> chains_{0};
  Atomic<std::uint32_t> state_;
};

using Inbox = BasicInbox<std::atomic>;

}  // namespace corbel::sync
