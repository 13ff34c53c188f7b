// SPDX-License-Identifier: Apache-2.0
// The ledger: a record of every block that the program has, or had until its memory was used again.
//
// Records lie apart from the blocks, in metadata, so that no write of the program reaches them. All
// blocks of a slab have their records in one group, and each large block has a group with one. A
// table like the page map leads from any address to the group of its unit, and arithmetic leads
// from there to the record. So a look-up takes no lock, and threads share nothing but the records
// of blocks that they exchange.
//
// A group remains when its slab is gone, until another slab or large block begins at the same
// place: a second free of a block is recognised although its memory has been given back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/heap/call_kind.hpp"
#include "alloc/stacks/stack_table.hpp"

namespace corbel::alloc {

struct Span;

enum class BlockState : std::uint32_t {
  kNone,         // there has been no block
  kLive,         // the program has it
  kChanging,     // a thread is checking, freeing or resizing it
  kQuarantined,  // freed, and kept from reuse
  kReleased,     // freed, and its memory may be in use for something else
};

struct BlockRecord {
  // A BlockState, with kChanging also the state before and the generation (below).
  std::atomic<std::uint32_t> state;
  // The fields below belong to the thread that makes the block, frees it or resizes it; the state
  // publishes them.
  StackId allocated_at;
  StackId freed_at;
  std::uint32_t allocated_by;  // threads, as os::thread_id()
  std::uint32_t freed_by;
  std::uint32_t front;              // the distance of the block from its raw block (raw_block.hpp)
  std::uint64_t size : 48;          // as requested
  std::uint64_t log_alignment : 8;  // as requested, if above kMinAlignment; 0: ordinary
  std::uint64_t origin : 4;         // an Origin
  std::uint64_t is_guarded : 1;     // has guard pages
  std::uint64_t is_protected : 1;   // the block itself is inaccessible, until its release
};
static_assert(sizeof(BlockRecord) == 32);

// How many forks lie between the first process and this one. The child of a fork does not have the
// threads that had taken records, and for it what they took is in the state before. Written in such
// a child, while it has a single thread.
extern std::uint32_t generation;

// A record with the place of its block.
struct BlockRef {
  BlockRecord* record = nullptr;
  char* raw = nullptr;       // the raw block
  std::size_t capacity = 0;  // its size

  explicit operator bool() const { return record != nullptr; }
  char* begin() const { return raw + record->front; }
  BlockState state() const {
    // (2) acquire: sees the fields published by (1)
    return state_of(record->state.load(std::memory_order_acquire));
  }
  void set_state(BlockState state) const {
    // (1) release: publishes the fields
    record->state.store(std::uint32_t(state), std::memory_order_release);
  }
  // Sets the state to kChanging, so that no other thread changes the record or gives the raw block
  // back. If another thread has set it to kChanging, waits until it sets another one. Returns the
  // state before, which the caller restores if it changes nothing.
  BlockState take() const;
  // The same if the state is `seen`, without waiting. False if it is another one by now.
  bool try_take(BlockState seen) const {
    auto expected = std::uint32_t(seen);
    // (3) acquire: sees the fields published by (1); relaxed on failure: nothing is read
    return record->state.compare_exchange_strong(
        expected, changing_from(seen), std::memory_order_acquire, std::memory_order_relaxed);
  }

 private:
  // From the lowest bits: the state, the state before, the generation.
  static constexpr unsigned kStateBits = 4;
  static constexpr std::uint32_t kStateMask = (1U << kStateBits) - 1;
  static BlockState state_of(std::uint32_t word) { return BlockState(word & kStateMask); }
  static BlockState state_before(std::uint32_t word) {
    return BlockState(word >> kStateBits & kStateMask);
  }
  static std::uint32_t changing_from(BlockState before) {
    return generation << (2 * kStateBits) | std::uint32_t(before) << kStateBits |
           std::uint32_t(BlockState::kChanging);
  }
};

class Ledger {
 public:
  // To be called once, before the other functions. False if there is no memory.
  bool set_up();

  // The record for a raw block that the calling thread has just got from the allocator: `span` is
  // its slab or its span. An empty reference if there is no memory.
  BlockRef record_for(Span* span, void* raw);

  // The record of the raw block that contains `address`, which may be any value; an empty reference
  // if there is none.
  BlockRef find(const void* address) const;

  // Loads the record of the raw block that begins there into the processor's cache.
  void prefetch(const void* raw) const;

  // Calls visit(block) for all records but those in the state kNone, until it returns false. Other
  // threads may work meanwhile: a block may have gone, and come again, at any time, and its record
  // may be that of another block by now, which lies elsewhere. See try_take().
  template <class Visit>
  void for_each_block(Visit visit) const;

  // The same for the blocks of a single group: another one at each call, over and over.
  template <class Visit>
  void for_next_group(Visit visit);

  // BlockRef::try_take() for a block that a visit has been given. False also if the record has
  // become that of another block.
  bool try_take(const BlockRef& visited, BlockState seen) const;

 private:
  struct Group;
  struct Leaf;

  Group* group_at(std::uintptr_t unit) const;
  Group* make_group(Span* span, std::size_t block_size, std::uint32_t count);
  Group* take_spare(std::uint32_t count);
  bool add_leaf(std::uintptr_t unit);
  void enter(Group* group, std::uintptr_t first_unit, std::size_t units);
  void retire(Group* group);
  static std::size_t index_of(std::size_t offset, std::size_t block_size);
  template <class Visit>
  static bool visit_group(const Group& group, Visit& visit);

  std::atomic<Leaf*>* root_ = nullptr;
  std::atomic<Group*> all_{nullptr};
  std::atomic<Group*> cursor_{nullptr};
  // By the number of records, under checks_lock.
  static constexpr std::size_t kSpareKinds = 64;
  Group* spare_[kSpareKinds] = {};
};

extern Ledger ledger;

// ---- implementation -----------------------------------------------------------------------------

struct Ledger::Group {
  // Where the first raw block begins; nullptr while the group is spare.
  std::atomic<char*> start;
  // Written anew when a spare group is used again, which a thread may still be reading.
  std::atomic<std::size_t> block_size;
  std::uint32_t count;
  Group* next;        // of all groups ever made; written once
  Group* next_spare;  // under checks_lock
  BlockRecord records[];

  // Whether a block of the group lies in the unit.
  bool has_unit(std::uintptr_t unit) const;
};

template <class Visit>
bool Ledger::visit_group(const Group& group, Visit& visit) {
  // (5) acquire: sees the fields published by (4)
  char* const start = group.start.load(std::memory_order_acquire);
  if (start == nullptr) return true;
  // relaxed: (4) publishes it; that of a later use makes a reference that try_take() refuses
  const std::size_t block_size = group.block_size.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < group.count; ++i) {
    auto* const record = const_cast<BlockRecord*>(&group.records[i]);
    const BlockRef block{record, start + i * block_size, block_size};
    if (block.state() != BlockState::kNone && !visit(block)) return false;
  }
  return true;
}

template <class Visit>
void Ledger::for_each_block(Visit visit) const {
  // (7) acquire: sees the groups published by (6)
  const Group* group = all_.load(std::memory_order_acquire);
  for (; group != nullptr; group = group->next) {
    if (!visit_group(*group, visit)) return;
  }
}

template <class Visit>
void Ledger::for_next_group(Visit visit) {
  // relaxed both: if two threads visit the same group, the next ones are visited later
  Group* group = cursor_.load(std::memory_order_relaxed);
  // (7) acquire: sees the groups published by (6), also those that the cursor leads to
  Group* const first = all_.load(std::memory_order_acquire);
  if (group == nullptr) group = first;
  if (group == nullptr) return;
  cursor_.store(group->next, std::memory_order_relaxed);
  visit_group(*group, visit);
}

}  // namespace corbel::alloc
