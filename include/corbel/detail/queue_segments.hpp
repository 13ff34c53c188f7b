// SPDX-License-Identifier: Apache-2.0
// The unbounded queue below concurrent_queue and concurrent_bounded_queue: linked segments of slots
// that threads claim with one atomic operation. Not for programs to include.
#ifndef CORBEL_DETAIL_QUEUE_SEGMENTS_HPP
#define CORBEL_DETAIL_QUEUE_SEGMENTS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/mutex_guard.hpp>
#include <corbel/detail/queue_segment.hpp>
#include <corbel/detail/queue_words.hpp>

namespace corbel {
namespace detail {

// A queue in segments of a fixed number of slots, after A. Morrison and Y. Afek, "Fast Concurrent
// Queues for x86 Processors" (2013), and P. Ramalhete and A. Correia, "FAAArrayQueue" (2016), with
// another way to free segments (see segment_store): there are neither hazard pointers nor epochs.
//
// Claiming a slot to push. The tail is one word: the address of the newest segment, and the number
// of claims on it. A fetch-and-add returns both, so a producer that gets an index below kSlots owns
// that slot of that very segment. Any other number is a claim on no slot; it is forgotten when the
// tail moves on to the next segment, under the lock.
//
// Claiming a slot if there is room. The producer reads the tail between two reads of the number of
// its segment, which must be equal, then the head, and claims by a compare-and-swap. If that finds
// the tail unchanged, and the segment has that number, no slot was claimed meanwhile; and the head
// only grows: there is room for certain. With another number, the segment was left and reused, and
// the tail has come back to the same word. Then the producer looks again, and gives the slot up if
// there is no room: consumers skip it. At the end of a segment all this happens under the lock.
//
// Counting elements. Broken slots are not elements, so they are counted, too, and that count is
// read before the head. If it is 0, each slot from the head on that is broken later belongs to a
// push that was at work meanwhile. Otherwise the slots are looked at one by one, again if the head
// has moved. A consumer that skips a broken slot moves the head, then changes the count (17), then
// the slot (12): a thread that sees a change sees the head moved.
//
// Claiming a slot to pop. The head is one word, too: the number of a segment and an index. It only
// grows, so a compare-and-swap on it succeeds only if it has not changed at all. A consumer that
// reads the head, then the address of the head's segment, and then succeeds, has the right address:
// the address changes only while the head is at the end of a segment, before the head leaves it.
// (So at the end the address may be that of the next segment. There the numbers of the head and of
// the tail tell whether there is one.) A consumer claims only slots that producers have claimed. If
// the tail is in the head's segment, its index tells which; if it is in another one, all of them.
// (The tail's segment is compared by address. While the head stands still its segment is not
// reused, so equal addresses mean the same segment; and a head that has moved makes the
// compare-and-swap fail.)
//
// A consumer that claims a slot whose producer is still at work waits for it: only that one
// consumer, and others go on with later slots. Claims of producers are made in the order of the
// tail, claims of consumers in the order of the head, and both go through the same slots: first in,
// first out.
//
// The atomics and the system are parameters so that a model checker can run this very source
// (test/model/queue_model.cpp).
template <typename T, typename Allocator, template <typename> class Atomic = std::atomic,
          typename System = queue_system>
class segment_queue : public queue_words {
 public:
  using segment = queue_segment<T, Atomic, System>;
  // A function, so that the class does not need a complete T.
  static constexpr unsigned slots() { return segment::kSlots; }

  struct slot {
    segment* in;
    unsigned index;
    // Whether the claim saw the mark of a waiting thread: of a consumer if it was claimed to push,
    // of a producer if it was claimed to pop.
    bool is_awaited;
    T* value() const { return in->value(index); }
    Atomic<unsigned char>& state() const { return in->states[index]; }
  };

  explicit segment_queue(const Allocator& allocator) : store_(allocator) {}
  segment_queue(const segment_queue&) = delete;
  segment_queue& operator=(const segment_queue&) = delete;
  ~segment_queue() { clear(); }

  Allocator& allocator() noexcept { return store_.allocator(); }
  const Allocator& allocator() const noexcept { return store_.allocator(); }

  // ---- any thread, at any time

  // Claims the next slot. The caller must complete it. Throws what the allocator throws; nothing
  // has changed then.
  slot claim() {
    // (1) acquire: sees the segment that (2) published
    const word tail = tail_.fetch_add(kOneClaim, std::memory_order_acquire);
    if (CORBEL_LIKELY(index_in(tail) < slots())) {
      return slot{segment_in(tail), index_in(tail), (tail & kConsumerWaits) != 0};
    }
    return claim_in_next();
  }

  // Claims the next slot if has_room(n), where n is not less than the number of elements before it.
  // Throws what the allocator throws; nothing has changed then.
  template <typename HasRoom>
  limited claim_within(slot& claimed, const HasRoom& has_room) {
    for (;;) {
      // (6) acquire: with (2); the tail is that of this segment, or a later one
      const word number = tail_number_.load(std::memory_order_acquire);
      word tail = tail_.load(std::memory_order_acquire);  // (7) acquire: with (2)
      const unsigned index = index_in(tail);
      if (CORBEL_UNLIKELY(index >= slots())) {
        const appended result = claim_first(claimed, [&] {
          return has_room_now(tail_position_under_lock(), has_room,
                              [&] { return size_without_broken_under_lock(); });
        });
        if (result == appended::kOther) continue;
        return result == appended::kYes ? limited::kClaimed : limited::kRefused;
      }
      // relaxed: after (7), so it sees the number of the tail's segment, or a later one
      if (number != tail_number_.load(std::memory_order_relaxed)) continue;
      if (!has_room_before(number * slots() + index, has_room)) return limited::kRefused;
      // (1) acquire: sees the segment that (2) published. relaxed if it fails: loads again
      if (!tail_.compare_exchange_weak(tail, tail + kOneClaim, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        continue;
      }
      claimed = slot{segment_in(tail), index, (tail & kConsumerWaits) != 0};
      if (CORBEL_LIKELY(claimed.in->number == number)) return limited::kClaimed;
      return has_room_before(claimed.in->number * slots() + index, has_room) ? limited::kClaimed
                                                                             : limited::kSurplus;
    }
  }

  // Consumers skip the claimed slot.
  void give_up(slot claimed) noexcept { const completion at_end(*this, claimed); }

  // Makes an element in a claimed slot. Throws what its constructor throws; consumers skip the slot
  // then.
  template <typename... Args>
  void complete(slot claimed, Args&&... args) {
    completion at_end(*this, claimed);
    std::allocator_traits<Allocator>::construct(allocator(), claimed.value(),
                                                std::forward<Args>(args)...);
    at_end.state = kSlotFull;
  }

  // Claims the oldest element, which the caller must remove. Returns false if there is none.
  bool claim_element(slot& claimed) {
    const attempt result = claim_oldest(claimed);
    // (11) acquire: sees the element that (8) published
    if (CORBEL_LIKELY(result == attempt::kClaimed &&
                      claimed.state().load(std::memory_order_acquire) == kSlotFull)) {
      return true;
    }
    return claim_element_slowly(claimed, result);
  }

  // Assigns a claimed element to `result`, moving it, and removes it. If the assignment throws, the
  // element is removed all the same.
  template <typename Result>
  void remove(slot claimed, Result& result) {
    const removal at_end(*this, claimed);
    result = std::move(*claimed.value());
  }

  // Whether there is no element, at one moment during the call.
  bool empty() const {
    if (CORBEL_UNLIKELY(has_broken())) return size() == 0;
    for (;;) {
      // (3) acquire: see claim_oldest
      const word head = head_.load(std::memory_order_acquire);
      if (index_of(head) == slots()) return is_last(head);
      segment* const first =
          head_segment_.load(std::memory_order_acquire);  // (4) acquire: with (9)
      const bool is_empty = index_of(head) >= claims_in(first);
      // relaxed: see claim_oldest
      if (head == head_.load(std::memory_order_relaxed)) return is_empty;
    }
  }

  // The number of elements that are being pushed or have been, and not popped. Exact if no other
  // thread pushes or pops.
  std::size_t size() const {
    if (CORBEL_UNLIKELY(has_broken())) return size_without_broken();
    const position from = head_position();
    const position to = tail_position();
    // The tail may be older than the head: not every claim to pop publishes what it saw.
    return to > from ? std::size_t(to - from) : 0;
  }

  // The number of slots that have been claimed to be pushed, or popped, since the beginning. A
  // thread that knows of the claim finds it counted.
  position head_position() const {
    // (5) acquire: with (10)
    const word head = head_.load(std::memory_order_acquire) & ~kProducerWaits;
    return (head >> kIndexBits) * slots() + index_of(head);
  }
  position tail_position() const {
    for (;;) {
      // (6) acquire: with (2); the tail read next is that of this segment, or a later one
      const word number = tail_number_.load(std::memory_order_acquire);
      const word tail = tail_.load(std::memory_order_acquire);  // (7) acquire: with (2)
      if (CORBEL_UNLIKELY(index_in(tail) >= slots())) {
        // The number may be that of the segment that is being appended.
        const guard held(lock_);
        return tail_position_under_lock();
      }
      // relaxed: after (7), so it sees the number of the tail's segment, or a later one
      if (number == tail_number_.load(std::memory_order_relaxed)) {
        return number * slots() + index_in(tail);
      }
    }
  }

  // ---- marks of waiting threads, for concurrent_bounded_queue
  //
  // A mark is a bit of the word that the claims change. So a claim sees the mark, or it came before
  // the mark, and then the thread that has set it sees the claim when it looks once more.

  void mark_consumer() {
    tail_.fetch_or(kConsumerWaits, std::memory_order_acq_rel);  // (15) acq_rel: with itself, (16)
  }
  void mark_producer() {
    head_.fetch_or(kProducerWaits, std::memory_order_acq_rel);  // (15) acq_rel: with itself, (16)
  }
  // Remove a mark, and return whether there was one. What the caller did before is seen by a thread
  // that sets the mark later.
  bool take_consumer_mark() {
    // (16) acq_rel: with (15)
    return (tail_.fetch_and(~kConsumerWaits, std::memory_order_acq_rel) & kConsumerWaits) != 0;
  }
  bool take_producer_mark() {
    // (16) acq_rel: with (15)
    return (head_.fetch_and(~kProducerWaits, std::memory_order_acq_rel) & kProducerWaits) != 0;
  }

  // ---- only while no other thread uses the queue

  // Destroys all elements and frees all memory.
  void clear() noexcept {
    segment* next = head_segment_.load(std::memory_order_relaxed);  // relaxed: no other thread
    unsigned from = index_of(head_.load(std::memory_order_relaxed));
    while (next != nullptr) {
      segment* const done = next;
      next = done->next;
      destroy_elements(*done, from);
      from = 0;
      store_.free(done);
    }
    store_.clear();
    contents().store_in(*this);
  }

  // Exchanges the elements, not the allocators.
  void swap_elements(segment_queue& other) noexcept {
    const contents mine(*this);
    contents(other).store_in(*this);
    mine.store_in(other);
    store_.swap_segments(other.store_);
  }

  // The oldest slot, which need not have an element.
  slot first_slot() const {
    // relaxed: no other thread
    return slot{head_segment_.load(std::memory_order_relaxed),
                index_of(head_.load(std::memory_order_relaxed)), false};
  }

 private:
  using mutex_type = basic_mutex<Atomic, System>;

  static segment* segment_in(word tail) {
    return reinterpret_cast<segment*>(queue_words::address_in(tail));
  }
  static unsigned bounded_index(word tail) {
    return index_in(tail) < slots() ? index_in(tail) : slots();
  }

  // What a queue has besides its store. By default, that of an empty queue without a segment: the
  // head is at the end of segment 0, which does not exist.
  struct contents {
    contents() = default;
    // relaxed: no other thread
    explicit contents(const segment_queue& q)
        : head(q.head_.load(std::memory_order_relaxed)),
          head_segment(q.head_segment_.load(std::memory_order_relaxed)),
          known_tail(q.known_tail_.load(std::memory_order_relaxed)),
          tail(q.tail_.load(std::memory_order_relaxed)),
          known_head(q.known_head_.load(std::memory_order_relaxed)),
          tail_number(q.tail_number_.load(std::memory_order_relaxed)),
          broken(q.broken_.load(std::memory_order_relaxed)),
          last(q.last_) {}
    void store_in(segment_queue& q) const {
      // relaxed: no other thread
      q.head_.store(head, std::memory_order_relaxed);
      q.head_segment_.store(head_segment, std::memory_order_relaxed);
      q.known_tail_.store(known_tail, std::memory_order_relaxed);
      q.tail_.store(tail, std::memory_order_relaxed);
      q.known_head_.store(known_head, std::memory_order_relaxed);
      q.tail_number_.store(tail_number, std::memory_order_relaxed);
      q.broken_.store(broken, std::memory_order_relaxed);
      q.last_ = last;
    }
    word head = slots();
    segment* head_segment = nullptr;
    word known_tail = 0;
    word tail = kOneClaim * slots();
    position known_head = 0;
    word tail_number = 0;
    std::size_t broken = 0;
    segment* last = nullptr;
  };

  using guard = mutex_guard<mutex_type>;

  // Publishes the outcome of a push.
  struct completion {
    completion(segment_queue& q, slot s) : queue(q), claimed(s) {}
    ~completion() {
      // relaxed: a thread that sees the broken slot sees it counted, by (8)
      if (state == kSlotBroken) queue.broken_.fetch_add(1, std::memory_order_relaxed);
      // (8) release: publishes the element to (11)
      claimed.state().store(state, std::memory_order_release);
    }
    completion(const completion&) = delete;
    completion& operator=(const completion&) = delete;
    segment_queue& queue;
    const slot claimed;
    unsigned char state = kSlotBroken;
  };

  // Destroys a popped element.
  struct removal {
    removal(segment_queue& q, slot s) : queue(q), claimed(s) {}
    ~removal() {
      std::allocator_traits<Allocator>::destroy(queue.allocator(), claimed.value());
      finish(claimed);
    }
    removal(const removal&) = delete;
    removal& operator=(const removal&) = delete;
    segment_queue& queue;
    const slot claimed;
  };

  // The segment may be reused from here on.
  static void finish(slot claimed) {
    // (12) release: the reads of the element come before the reuse that is_all_taken allows, and
    // the head has moved, to (18)
    claimed.state().store(kSlotTaken, std::memory_order_release);
  }

  // Whether there is room for a slot at the position, the tail's.
  template <typename HasRoom>
  bool has_room_before(position tail, const HasRoom& has_room) {
    // Written and read only by producers: they seldom need the line of the consumers. (16) acquire:
    // sees what the consumers did before the head was there, see (5)
    const position known = known_head_.load(std::memory_order_acquire);
    if (CORBEL_LIKELY(has_room(elements_before(tail, known)))) return true;
    return has_room_now(tail, has_room, [&] { return size_without_broken(tail); });
  }
  // The same, by the head as it is. A refusal is true of one moment: the head has not moved since.
  template <typename HasRoom, typename Count>
  bool has_room_now(position tail, const HasRoom& has_room, const Count& count_without_broken) {
    for (;;) {
      const bool is_any_broken = has_broken();
      const position head = head_position();
      known_head_.store(head, std::memory_order_release);  // release: what (5) saw, to (16)
      const std::size_t n = is_any_broken ? count_without_broken() : elements_before(tail, head);
      if (has_room(n)) return true;
      if (head == head_position()) return false;
    }
  }

  // Whether broken slots wait for a consumer. If not, the head that the caller reads next is past
  // all of them.
  bool has_broken() const {
    return broken_.load(std::memory_order_acquire) != 0;  // (13) acquire: with (17)
  }

  // How many slots of the segment `first`, the head's, producers have claimed. Meaningful only if
  // the head does not move meanwhile and is not at the end: there the address may be the next
  // one's.
  unsigned claims_in(segment* first) const {
    // (14) acquire: with (2). If the tail is that of a later life of the segment, the caller sees
    // that the head has moved.
    const word tail = tail_.load(std::memory_order_acquire);
    return segment_in(tail) == first ? bounded_index(tail) : slots();
  }

  // Whether there is no segment after that of `head`, which is at its end: then there is no slot to
  // claim, now that all up to `head` are claimed.
  bool is_last(word head) const {
    // (6) acquire: with (2)
    return tail_number_.load(std::memory_order_acquire) == (head & ~kProducerWaits) >> kIndexBits;
  }

  // Tries to claim the oldest slot that a producer has claimed.
  attempt claim_oldest(slot& claimed) {
    // (3) acquire: with (10), sees the segment's address, or a later one
    word head = head_.load(std::memory_order_acquire);
    // (4) acquire: with (9). If it is that of a later segment, the head is seen to have moved.
    segment* const first = head_segment_.load(std::memory_order_acquire);
    const unsigned index = index_of(head);
    // Written and read only by consumers, so that they seldom need the line of the producers.
    // relaxed: it once was true, and stays so
    word known = known_tail_.load(std::memory_order_relaxed);
    const bool is_known = (head & ~kProducerWaits) < known;
    if (!is_known) {
      if (CORBEL_UNLIKELY(index == slots())) {
        return is_last(head) ? attempt::kEmpty : attempt::kAtEnd;
      }
      const unsigned claims = claims_in(first);
      if (CORBEL_UNLIKELY(index >= claims)) {
        // relaxed: by (14) and (4) it is not older than what those saw
        return head == head_.load(std::memory_order_relaxed) ? attempt::kEmpty : attempt::kMoved;
      }
      known = (head & ~kIndexMask & ~kProducerWaits) | claims;
    }
    // release: publishes to (5) that the consumer does not wait any more (bounded_core). relaxed if
    // it fails: (3) and (4) have seen what the slot needs
    if (CORBEL_UNLIKELY(!head_.compare_exchange_strong(head, head + 1, std::memory_order_release,
                                                       std::memory_order_relaxed))) {
      return attempt::kMoved;
    }
    // relaxed: a hint that is true: the head did not move while it was found
    if (!is_known) known_tail_.store(known, std::memory_order_relaxed);
    claimed = slot{first, index, (head & kProducerWaits) != 0};
    return attempt::kClaimed;
  }

  // The rest of claim_element, after an attempt.
  CORBEL_NOINLINE bool claim_element_slowly(slot& claimed, attempt result) {
    bool is_awaited = false;
    for (; result != attempt::kEmpty; result = claim_oldest(claimed)) {
      if (result == attempt::kAtEnd) enter_next();
      if (result != attempt::kClaimed) continue;
      is_awaited |= claimed.is_awaited;
      if (!await_element(claimed)) continue;
      claimed.is_awaited = is_awaited;
      return true;
    }
    return false;
  }

  // Waits for the claimed slot's producer. Returns false if the slot is broken, which is finished
  // then.
  bool await_element(slot claimed) {
    unsigned char now = kSlotEmpty;
    System::await([&] {
      now = claimed.state().load(std::memory_order_acquire);  // (11) acquire: with (8)
      return now != kSlotEmpty;
    });
    if (now == kSlotFull) return true;
    // (17) release: to (13), the head has moved
    broken_.fetch_sub(1, std::memory_order_release);
    finish(claimed);
    return false;
  }

  // ---- under the lock

  // Moves the head on to the next segment, if it is at the end of one that is not the last.
  CORBEL_NOINLINE void enter_next() {
    segment* unused = nullptr;
    {
      const guard held(lock_);
      // relaxed: the end of a segment is left under the lock
      if (index_of(head_.load(std::memory_order_relaxed)) != slots()) return;
      segment* const left = head_segment_.load(std::memory_order_relaxed);  // relaxed: the same
      if (left == last_) return;
      enter(*left->next);
      unused = store_.retire(left);
    }
    if (unused != nullptr) store_.free(unused);
  }

  // Moves the head from the end of the segment before `s` to the beginning of `s`.
  void enter(segment& s) {
    // (9) release: with (4)
    head_segment_.store(&s, std::memory_order_release);
    // (10) release: publishes the address to (3). An addition: it keeps the mark.
    head_.fetch_add((word(1) << kIndexBits) - slots(), std::memory_order_release);
  }

  // Claims the first slot of the next segment, or another slot if there is one already.
  CORBEL_NOINLINE slot claim_in_next() {
    slot claimed{nullptr, 0, false};
    const bool is_done = claim_first(claimed, [] { return true; }) == appended::kYes;
    return is_done ? claimed : claim();
  }
  // Claims the first slot of the next segment if has_room().
  template <typename HasRoom>
  CORBEL_NOINLINE appended claim_first(slot& claimed, const HasRoom& has_room) {
    segment* made = nullptr;
    appended result = append(made, claimed, has_room);
    if (result == appended::kNeedsMemory) {
      made = store_.make();
      result = append(made, claimed, has_room);
      if (made != nullptr) store_.free(made);
    }
    return result;
  }

  // Appends the segment `made`, or an unused one if that is nullptr, and claims its first slot, if
  // has_room(). Sets `made` to nullptr if it has taken it.
  template <typename HasRoom>
  appended append(segment*& made, slot& claimed, const HasRoom& has_room) {
    const guard held(lock_);
    // relaxed: only the holder of the lock changes the address
    const bool is_other = index_in(tail_.load(std::memory_order_relaxed)) < slots();
    if (is_other || !has_room()) {
      if (made != nullptr) made = store_.keep(made);
      return is_other ? appended::kOther : appended::kNoRoom;
    }
    segment* const next = made != nullptr ? made : store_.take();
    made = nullptr;
    if (next == nullptr) {
      forget_claims_on_no_slot();
      return appended::kNeedsMemory;
    }
    // relaxed: changes only under the lock
    next->begin(tail_number_.load(std::memory_order_relaxed) + 1);
    const bool is_first = last_ == nullptr;
    if (!is_first) last_->next = next;
    last_ = next;
    // (2) release: with (6)
    tail_number_.store(next->number, std::memory_order_release);
    // (2) acq_rel: publishes the segment to (1), (7) and (14); sees what (15) published
    const word before = tail_.exchange(tail_at(next, 1), std::memory_order_acq_rel);
    claimed = slot{next, 0, (before & kConsumerWaits) != 0};
    // Claims that come between the two do not see the mark, but this one has.
    if (claimed.is_awaited) mark_consumer();
    // Not before the tail is in the segment: a consumer takes a tail elsewhere to be past it.
    if (is_first) enter(*next);
    return appended::kYes;
  }

  // So that their number stays small, however often memory is missing.
  void forget_claims_on_no_slot() {
    word tail = tail_.load(std::memory_order_relaxed);  // relaxed: the exchange compares
    // relaxed: nothing is published
    while (!tail_.compare_exchange_weak(tail, tail_at(last_, slots()) | (tail & kConsumerWaits),
                                        std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
  }

  position tail_position_under_lock() const {
    // relaxed: the number and the segment change only under the lock
    const word number = tail_number_.load(std::memory_order_relaxed);
    return number * slots() + bounded_index(tail_.load(std::memory_order_relaxed));
  }

  // The elements between the head and the limit, those that break meanwhile perhaps included.
  CORBEL_NOINLINE std::size_t size_without_broken(position limit = ~position(0)) const {
    const guard held(lock_);
    return size_without_broken_under_lock(limit);
  }
  std::size_t size_without_broken_under_lock(position limit = ~position(0)) const {
    for (;;) {
      const position from = head_position();
      // relaxed: the segment changes under the lock, so it is the one of any head read here
      segment* s = head_segment_.load(std::memory_order_relaxed);
      unsigned i = s == nullptr ? 0 : static_cast<unsigned>(from - s->number * slots());
      const position tail = tail_position_under_lock();
      std::size_t elements = 0;
      for (position p = from; p < tail && p < limit; ++p, ++i) {
        if (i == slots()) s = s->next, i = 0;
        // (18) acquire: with (12), the head has moved if the slot is taken
        if (s->states[i].load(std::memory_order_acquire) != kSlotBroken) ++elements;
      }
      if (from == head_position()) return elements;  // ends: the head leaves no segment now
    }
  }

  void destroy_elements(segment& s, unsigned from) noexcept {
    for (unsigned i = from; i < slots(); ++i) {
      // relaxed: no other thread
      if (s.states[i].load(std::memory_order_relaxed) != kSlotFull) continue;
      std::allocator_traits<Allocator>::destroy(allocator(), s.value(i));
    }
  }

  // What the consumers write, the producers write, and both seldom write, on different cache lines.
  Atomic<word> head_{slots()};
  Atomic<segment*> head_segment_{nullptr};
  Atomic<word> known_tail_{0};
  char apart_[kCacheLine];
  Atomic<word> tail_{kOneClaim * slots()};
  Atomic<position> known_head_{0};
  char apart_too_[kCacheLine];
  Atomic<word> tail_number_{0};
  Atomic<std::size_t> broken_{0};
  mutable mutex_type lock_;
  segment* last_ = nullptr;
  segment_store<segment, Allocator> store_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_QUEUE_SEGMENTS_HPP
