// SPDX-License-Identifier: Apache-2.0
// The two words that say where a concurrent queue begins and ends. Not for programs to include.
#ifndef CORBEL_DETAIL_QUEUE_WORDS_HPP
#define CORBEL_DETAIL_QUEUE_WORDS_HPP

#include <cstddef>
#include <cstdint>

namespace corbel {
namespace detail {

// The claims are counted above the address of a segment, in one word.
constexpr unsigned kSegmentAddressBits = 48;

class queue_words {
 public:
  // The number of slots before one, since the beginning.
  using position = std::uint64_t;

  // What became of a claim with a limit. kClaimed: the caller must complete the slot. kRefused:
  // there was no room. kSurplus: there was none for the slot that is claimed nevertheless; the
  // caller must give it up.
  enum class limited { kClaimed, kRefused, kSurplus };

 protected:
  using word = std::uint64_t;

  // The head: a segment's number, and the index of the oldest slot in it that no consumer has
  // claimed; the number of slots if there is none.
  static constexpr unsigned kIndexBits = 16;
  static constexpr word kIndexMask = (word(1) << kIndexBits) - 1;
  static constexpr word kProducerWaits = word(1) << 63;  // the mark of a producer
  static unsigned index_of(word head) { return static_cast<unsigned>(head & kIndexMask); }

  // The tail: a segment's address, and above it the number of claims. Each thread adds at most one
  // to the number of slots before it enters the lock, and the next segment sets it back there.
  static constexpr word kOneClaim = word(1) << kSegmentAddressBits;
  static constexpr word kConsumerWaits = 1;  // the mark of a consumer; an address is even
  static std::uintptr_t address_in(word tail) {
    return static_cast<std::uintptr_t>(tail & (kOneClaim - 1) & ~kConsumerWaits);
  }
  static unsigned index_in(word tail) { return static_cast<unsigned>(tail >> kSegmentAddressBits); }

  template <typename Segment>
  static word tail_at(Segment* s, unsigned claims) {
    return static_cast<word>(reinterpret_cast<std::uintptr_t>(s)) | kOneClaim * claims;
  }

  // What became of a claim to pop. kClaimed: the slot is the caller's. kMoved: another thread was
  // faster. kAtEnd: the head is at the end of a segment that is not the last one. kEmpty: there was
  // no slot to claim.
  enum class attempt { kClaimed, kMoved, kAtEnd, kEmpty };

  // What became of the end of the queue. kOther: another thread has appended a segment.
  // kNeedsMemory: there is no segment to append. kNoRoom: there is no room.
  enum class appended { kYes, kOther, kNeedsMemory, kNoRoom };

  // The number of elements before the position, the tail's; more if the head has moved.
  static std::size_t elements_before(position tail, position head) {
    return tail > head ? std::size_t(tail - head) : 0;
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_QUEUE_WORDS_HPP
