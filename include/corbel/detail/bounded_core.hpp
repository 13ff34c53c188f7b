// SPDX-License-Identifier: Apache-2.0
// The capacity of concurrent_bounded_queue, and waiting for room and for elements. Not for programs
// to include.
#ifndef CORBEL_DETAIL_BOUNDED_CORE_HPP
#define CORBEL_DETAIL_BOUNDED_CORE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/config.hpp>
#include <corbel/detail/queue_segments.hpp>
#include <corbel/detail/queue_waiters.hpp>
#include <corbel/exceptions.hpp>

namespace corbel {
namespace detail {

// Where there is a limit, producers claim by segment_queue::claim_within. There is room if the
// elements, minus the waiting pops, are fewer than the capacity. A waiting consumer stops counting
// itself before it claims, and has_room() gets the claims before it looks at that count, so no
// consumer is seen twice. If one is not seen at all, its claim has moved the head, and the producer
// looks again.
//
// What makes room removes the producers' mark and gives them the signal: a claim to pop (which sees
// the mark), a pop that begins to wait, a push that fails, a larger capacity. What makes an element
// does so for the consumers: a push, when it is complete. See queue_waiters.
//
// `Elements` is a segment_queue. The atomics and the system are parameters so that a model checker
// can run this very source (test/model/bounded_queue_model.cpp).
template <typename Elements, template <typename> class Atomic = std::atomic,
          typename System = queue_system>
class bounded_core {
  using slot = typename Elements::slot;
  using waiters = queue_waiters<Atomic, System>;

 public:
  bounded_core() = default;
  bounded_core(const bounded_core&) = delete;
  bounded_core& operator=(const bounded_core&) = delete;

  // Claims a slot to push, when there is room. Throws user_abort, and what segment_queue::claim
  // throws.
  slot claim(Elements& elements) {
    slot claimed;
    if (CORBEL_LIKELY(try_claim(elements, claimed))) return claimed;
    return wait_for_room(elements);
  }

  // The same without waiting: returns false if there is no room.
  bool try_claim(Elements& elements, slot& claimed) {
    // relaxed: a thread that changes the capacity wakes the producers
    if (CORBEL_LIKELY(capacity_.load(std::memory_order_relaxed) == kUnlimited)) {
      claimed = elements.claim();
      return true;
    }
    const typename Elements::limited result = elements.claim_within(
        claimed, [this](std::size_t elements_now) { return has_room(elements_now); });
    if (CORBEL_UNLIKELY(result == Elements::limited::kSurplus)) {
      const push_end at_end(*this, elements, claimed);
      elements.give_up(claimed);
    }
    return result == Elements::limited::kClaimed;
  }

  // What is to do after a push, whether it has made an element or failed.
  struct push_end {
    push_end(bounded_core& c, Elements& e, slot s) : core(c), elements(e), claimed(s) {}
    ~push_end() {
      if (CORBEL_UNLIKELY(claimed.is_awaited)) core.wake_consumer(elements);
      if (CORBEL_UNLIKELY(!is_made)) core.wake_producer(elements);
    }
    push_end(const push_end&) = delete;
    push_end& operator=(const push_end&) = delete;
    bounded_core& core;
    Elements& elements;
    const slot claimed;
    bool is_made = false;
  };

  // Claims an element, when there is one. Throws user_abort.
  slot claim_element(Elements& elements) {
    slot claimed;
    if (CORBEL_LIKELY(try_claim_element(elements, claimed))) return claimed;
    return wait_for_element(elements);
  }

  // The same without waiting: returns false if there is none.
  bool try_claim_element(Elements& elements, slot& claimed) {
    if (!elements.claim_element(claimed)) return false;
    if (CORBEL_UNLIKELY(claimed.is_awaited)) wake_producer(elements);
    return true;
  }

  void abort() noexcept {
    consumers_.abort();
    producers_.abort();
  }

  std::ptrdiff_t size(const Elements& elements) const {
    const std::ptrdiff_t elements_now = static_cast<std::ptrdiff_t>(elements.size());
    return elements_now + producers_.count() - consumers_.count();
  }

  std::ptrdiff_t capacity() const noexcept {
    return capacity_.load(std::memory_order_relaxed);  // relaxed: nothing is read because of it
  }

  void set_capacity(Elements& elements, std::ptrdiff_t capacity) {
    // (1) release: with (2); wake_producer publishes it to producers that wait
    capacity_.store(capacity < 0 || capacity > kUnlimited ? kUnlimited : capacity,
                    std::memory_order_release);
    wake_producer(elements);
  }

 private:
  static constexpr std::ptrdiff_t kUnlimited = PTRDIFF_MAX / 8;

  bool has_room(std::size_t elements_now) const {
    // (2) acquire: with (1). A refusal because of a smaller capacity sees what its thread had
    // popped before.
    return static_cast<std::ptrdiff_t>(elements_now) - consumers_.count() <
           capacity_.load(std::memory_order_acquire);
  }
  bool has_room(const Elements& elements) const { return has_room(elements.size()); }

  void wake_consumer(Elements& elements) {
    if (elements.take_consumer_mark()) consumers_.signal();
  }
  void wake_producer(Elements& elements) {
    if (elements.take_producer_mark()) producers_.signal();
  }

  // Hand on a signal that may have stood for several events: see queue_waiters.
  struct consumer_hand_on {
    ~consumer_hand_on() {
      if (!has_others) return;
      elements.mark_consumer();
      if (!elements.empty()) core.wake_consumer(elements);
    }
    bounded_core& core;
    Elements& elements;
    const bool has_others;
  };
  struct producer_hand_on {
    ~producer_hand_on() {
      if (!has_others) return;
      elements.mark_producer();
      if (core.has_room(elements)) core.wake_producer(elements);
    }
    bounded_core& core;
    Elements& elements;
    const bool has_others;
  };

  CORBEL_NOINLINE slot wait_for_element(Elements& elements) {
    const typename waiters::generation since = consumers_.now();
    slot claimed;
    for (int i = 0; i < System::kSpins; ++i) {
      System::pause(i);
      if (try_claim_element(elements, claimed)) return claimed;
    }
    for (;;) {
      consumers_.enter();
      wake_producer(elements);
      elements.mark_consumer();
      if (elements.empty() && consumers_.now() == since) consumers_.sleep(since);
      const consumer_hand_on at_end{*this, elements, consumers_.leave()};
      if (consumers_.now() != since) raise(user_abort());
      if (try_claim_element(elements, claimed)) return claimed;
    }
  }

  CORBEL_NOINLINE slot wait_for_room(Elements& elements) {
    const typename waiters::generation since = producers_.now();
    slot claimed;
    for (int i = 0; i < System::kSpins; ++i) {
      System::pause(i);
      if (try_claim(elements, claimed)) return claimed;
    }
    for (;;) {
      producers_.enter();
      elements.mark_producer();
      if (!has_room(elements) && producers_.now() == since) producers_.sleep(since);
      const producer_hand_on at_end{*this, elements, producers_.leave()};
      if (producers_.now() != since) raise(user_abort());
      if (try_claim(elements, claimed)) return claimed;
    }
  }

  Atomic<std::ptrdiff_t> capacity_{kUnlimited};
  waiters consumers_;
  waiters producers_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_BOUNDED_CORE_HPP
