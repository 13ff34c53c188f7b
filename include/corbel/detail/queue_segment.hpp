// SPDX-License-Identifier: Apache-2.0
// The segments of a concurrent queue, and where they come from. Not for programs to include.
#ifndef CORBEL_DETAIL_QUEUE_SEGMENT_HPP
#define CORBEL_DETAIL_QUEUE_SEGMENT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/queue_words.hpp>
#include <corbel/detail/wait_on_address.hpp>

namespace corbel {
namespace detail {

// What becomes of a slot. A producer makes it full, or broken if the element's constructor throws;
// the consumer that has claimed it makes it taken.
enum slot_state : unsigned char { kSlotEmpty, kSlotFull, kSlotBroken, kSlotTaken };

// The parameter of segment_queue besides the atomics. A model checker replaces it.
struct queue_system : sleeping_wait {
  // A segment fills about a kibibyte, and has two slots at least.
  template <typename T>
  static constexpr unsigned slots() {
    return sizeof(T) > 480 ? 2 : static_cast<unsigned>(990 / (sizeof(T) + 1));
  }
  // Returns when `condition()` holds, which another thread's running code is about to cause.
  template <typename Condition>
  static void await(Condition condition) {
    spin_until(condition);
  }
};

// A number of slots, with a state each.
template <typename T, template <typename> class Atomic, typename System>
struct queue_segment {
  static constexpr unsigned kSlots = System::template slots<T>();
  static_assert(kSlots < 4096, "the claims of many threads beyond the last slot fit in the word");

  queue_segment* next;   // protected by the queue's lock
  std::uint64_t number;  // from 1, in the order of the queue
  Atomic<unsigned char> states[kSlots];
  alignas(T) unsigned char bytes[kSlots * sizeof(T)];

  T* value(unsigned i) { return reinterpret_cast<T*>(bytes) + i; }

  // Prepares the segment for use, also again.
  void begin(std::uint64_t its_number) {
    number = its_number;
    next = nullptr;
    for (Atomic<unsigned char>& state : states) {
      state.store(kSlotEmpty, std::memory_order_relaxed);  // relaxed: the queue publishes it
    }
  }

  // Whether no consumer uses a slot any more, once the head has left the segment.
  bool is_all_taken() const {
    for (unsigned i = kSlots; i > 0; --i) {  // the last one is taken last
      // (1) acquire: with the release by which a consumer finishes with the slot
      if (states[i - 1].load(std::memory_order_acquire) != kSlotTaken) return false;
    }
    return true;
  }
};

template <typename T, template <typename> class Atomic, typename System>
constexpr unsigned queue_segment<T, Atomic, System>::kSlots;

// Makes and frees segments, and keeps those that are not in the queue: those that the head has left
// and whose consumers may not have finished, and a spare one. Except for make() and free(), the
// caller protects it.
//
// Neither side of the queue reads a segment in which it owns no unfinished slot, except under the
// lock. So a segment that head and tail have left, and whose slots are all taken, is free. The
// threads that move the head on, or need a segment, look for such ones among the retired segments.
template <typename Segment, typename Allocator>
class segment_store {
  using segment_allocator =
      typename std::allocator_traits<Allocator>::template rebind_alloc<Segment>;
  using traits = std::allocator_traits<segment_allocator>;

 public:
  explicit segment_store(const Allocator& allocator) : allocator_(allocator) {}
  segment_store(const segment_store&) = delete;
  segment_store& operator=(const segment_store&) = delete;

  Allocator& allocator() noexcept { return allocator_; }
  const Allocator& allocator() const noexcept { return allocator_; }

  // Returns a new segment. Throws what the allocator throws; bad_alloc if the address does not
  // leave room for the claims.
  Segment* make() {
    segment_allocator allocator(allocator_);
    const typename traits::pointer memory = traits::allocate(allocator, 1);
    Segment* const made = ::new (static_cast<void*>(std::addressof(*memory))) Segment;
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(made);
    if (CORBEL_LIKELY(address >> kSegmentAddressBits == 0)) return made;
    free(made);
    raise(std::bad_alloc());
  }

  void free(Segment* s) noexcept {
    segment_allocator allocator(allocator_);
    const auto memory = std::pointer_traits<typename traits::pointer>::pointer_to(*s);
    s->~Segment();
    traits::deallocate(allocator, memory, 1);
  }

  // Adds a segment that the head has left. Returns one that the caller must free, or nullptr.
  Segment* retire(Segment* s) noexcept {
    s->next = retired_;
    retired_ = s;
    return keep(take_unused());
  }

  // Keeps the segment, which is unused, or nullptr. Returns what the caller must free, or nullptr.
  Segment* keep(Segment* s) noexcept {
    if (spare_ != nullptr) return s;
    spare_ = s;
    return nullptr;
  }

  // Returns an unused segment, or nullptr.
  Segment* take() noexcept {
    if (spare_ == nullptr) return take_unused();
    Segment* const taken = spare_;
    spare_ = nullptr;
    return taken;
  }

  // Frees all segments that it keeps. No consumer may be at work.
  void clear() noexcept {
    while (retired_ != nullptr) {
      Segment* const s = retired_;
      retired_ = s->next;
      free(s);
    }
    if (spare_ != nullptr) free(spare_);
    spare_ = nullptr;
  }

  void swap_segments(segment_store& other) noexcept {
    std::swap(retired_, other.retired_);
    std::swap(spare_, other.spare_);
  }

 private:
  // Few are retired at a time: those with a consumer at work, and one more.
  Segment* take_unused() noexcept {
    for (Segment** link = &retired_; *link != nullptr; link = &(*link)->next) {
      Segment* const s = *link;
      if (!s->is_all_taken()) continue;
      *link = s->next;
      return s;
    }
    return nullptr;
  }

  Segment* retired_ = nullptr;
  Segment* spare_ = nullptr;
  Allocator allocator_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_QUEUE_SEGMENT_HPP
