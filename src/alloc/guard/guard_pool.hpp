// SPDX-License-Identifier: Apache-2.0
// The guard pool: address space in which each second page is a slot, for one block. The pages
// between the slots are never accessible. A slot is accessible only while a block lives in it.
//
//   | guard page | slot | guard page | slot | … | guard page |
//
// There are several times as many slots as blocks may live in them, and the slot that has been free
// for the longest time is taken next. So a freed block stays inaccessible for as long as possible.
// A freed slot takes no memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/check/ledger.hpp"
#include "alloc/heap/sampling.hpp"

namespace corbel::alloc {

class GuardPool {
 public:
  // To be called once, before the other functions. At most `max_live` blocks will live at a time.
  // False if the system refuses, or the hard limit leaves no room.
  bool set_up(std::size_t max_live);

  // Whether the request fits into a slot, and one may be taken.
  bool has_room(const BlockRequest& request) const;

  // Places a block in a slot: its record has the size and the place, and is taken. The rest of the
  // slot is filled with the canary. An empty reference if there is no room.
  BlockRef take(const BlockRequest& request);

  // Ends the life of a block, whose record the caller has taken and filled in.
  void give_back(const BlockRef& block);

  // The block whose slot the address is in, or next to; an empty reference if there has been none.
  // Takes no lock.
  BlockRef find(const void* address) const;

  // The bytes of the accessible slots.
  std::size_t live_bytes() const { return live_.load(std::memory_order_relaxed) * page_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index(0);
  struct Slot {
    BlockRecord record;
    Index next;       // free slot
    bool is_counted;  // its page is in the footprint: also where the system has not taken it back
  };

  BlockRef block_of(Index slot) const {
    return {&slots_[slot].record, begin_ + (2 * std::size_t(slot) + 1) * page_, page_};
  }
  Index slot_of(const BlockRef& block) const {
    return Index(std::size_t(block.raw - begin_) / page_ / 2);
  }
  void decommit(const BlockRef& block);
  Index pop(bool* at_end);
  void push(Index slot);
  void free_slot(Index slot);
  bool enter(char* begin, std::size_t bytes);

  char* begin_ = nullptr;
  std::size_t page_ = 0;
  Slot* slots_ = nullptr;
  Index count_ = 0;
  Index max_live_ = 0;
  // relaxed throughout: a figure; written under samples_lock
  std::atomic<std::size_t> live_{0};
  // The free slots, in the order in which they are to be taken. Under samples_lock, as random_.
  Index first_ = kNone;
  Index last_ = kNone;
  std::uint64_t random_ = 0;
};

}  // namespace corbel::alloc
