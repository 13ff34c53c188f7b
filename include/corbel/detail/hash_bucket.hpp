// SPDX-License-Identifier: Apache-2.0
// One bucket of a concurrent hash map, with the blocks that it overflows into. Not for programs to
// include.
#ifndef CORBEL_DETAIL_HASH_BUCKET_HPP
#define CORBEL_DETAIL_HASH_BUCKET_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/config.hpp>
#include <corbel/detail/hash_tags.hpp>

namespace corbel {
namespace detail {

// The part of a node that the buckets know.
struct hashed_node {
  std::uint32_t hash = 0;  // set before the node is linked
};

// A bucket, or a block that a full bucket has its further nodes in. It has the size of a cache
// line, and a bucket is one; memory for blocks may be less aligned. hash_buckets.hpp has the
// protocol and the numbers of the atomic operations; hash_tags.hpp says what a state is. Functions
// that change something, or are said to, need the lock of the bucket. What the lock's holder reads
// is relaxed: only it writes.
template <template <typename> class Atomic>
struct basic_bucket {
  using tags = hash_tags;

  static constexpr std::size_t kLastSlot = tags::kSlots - 1;
  static constexpr std::uintptr_t kBlock = 1;  // marks a pointer to a block

  explicit basic_bucket(std::uint64_t first_state) noexcept : state(first_state) {
    // relaxed: published with the bucket
    for (Atomic<std::uintptr_t>& slot : slots) slot.store(0, std::memory_order_relaxed);
  }

  // Calls visit(node) for the nodes with the hash, if `seen` is the state, until it returns true;
  // returns whether it did. The caller is in a reading section, without the lock.
  template <typename Visit>
  bool look(std::uint64_t seen, std::uint32_t hash, const Visit& visit) const {
    const std::uint64_t wanted = tags::repeated(tags::of(hash));
    const basic_bucket* b = this;
    for (;;) {
      std::uintptr_t word = 0;
      std::uint64_t m = tags::matches(seen, wanted);
      while (m != 0) {
        const std::size_t slot = tags::first(m);
        // (15) acquire: sees the node or the block, published by (4) or (9), and what a split did
        // before (4)
        word = b->slots[slot].load(std::memory_order_acquire);
        if (CORBEL_UNLIKELY((word & kBlock) != 0)) break;
        m &= m - 1;
        hashed_node* const n = reinterpret_cast<hashed_node*>(word);
        if (n->hash != hash) continue;
        // If the node took the place of another one with the same tag, (4) came before its own tag:
        // then it is not there yet. (12) acquire: like the first state; and by (15) it is not older
        // than the state in which the slot was free.
        const std::uint64_t now = b->state.load(std::memory_order_acquire);
        if (CORBEL_UNLIKELY(((now ^ seen) & tags::at(0xff, slot)) != 0)) {
          seen = now;
          m = tags::matches(seen, wanted);
        } else if (visit(n)) {
          return true;
        }
      }
      if (CORBEL_UNLIKELY((seen & tags::kOverflows) != 0)) {
        word = b->slots[kLastSlot].load(std::memory_order_acquire);  // (15)
      }
      // The last slot has a node instead of a block if a split has unlinked the blocks: then the
      // version has changed.
      if (CORBEL_LIKELY((word & kBlock) == 0)) return false;
      b = block_of(word);
      seen = b->state.load(std::memory_order_acquire);  // (12)
    }
  }

  // Calls visit(node) for all nodes, if the state is `own`, until it returns true. Under the lock.
  template <typename Visit>
  void for_each(std::uint64_t own, const Visit& visit) const {
    for (const basic_bucket* b = this;;) {
      for (std::uint64_t m = tags::used(own); m != 0; m &= m - 1) {
        if (visit(b->node_in(tags::first(m)))) return;
      }
      if ((own & tags::kOverflows) == 0) return;
      b = b->block();
      own = b->state.load(std::memory_order_relaxed);
    }
  }

  hashed_node* node_in(std::size_t slot) const noexcept {
    return reinterpret_cast<hashed_node*>(slots[slot].load(std::memory_order_relaxed));
  }
  // The block of a bucket that overflows.
  basic_bucket* block() const noexcept {
    return block_of(slots[kLastSlot].load(std::memory_order_relaxed));
  }

  // Has `block()`, which is `empty` and overflows itself, no longer. Under the lock.
  void skip(const basic_bucket& empty) noexcept {
    // (9) release: publishes the block after it
    slots[kLastSlot].store(empty.slots[kLastSlot].load(std::memory_order_relaxed),
                           std::memory_order_release);
  }

  // Calls visit(block) for a block and those after it, if it is not nullptr; it may free the block.
  template <typename Visit>
  static void each_block(basic_bucket* block, const Visit& visit) {
    while (block != nullptr) {
      const bool is_last = (block->state.load(std::memory_order_relaxed) & tags::kOverflows) == 0;
      basic_bucket* const next = is_last ? nullptr : block->block();
      visit(block);
      block = next;
    }
  }

  // Puts a node into a free slot, here, if the state is going to be `own`, or in a block. Returns
  // false if that takes another block and there is none to spare.
  bool put(std::uint64_t& own, hashed_node* n, std::uint32_t hash, basic_bucket*& spare) noexcept {
    basic_bucket* b = this;
    std::uint64_t s = own;
    for (; tags::free(s) == 0; s = b->state.load(std::memory_order_relaxed)) {
      if ((s & tags::kOverflows) == 0) {
        if (spare == nullptr) return false;
        s = b->add_block(s, *take(spare));
        set_state(*b, s, own);
      }
      b = b->block();
    }
    const std::size_t slot = tags::first(tags::free(s));
    // (4) release: publishes the node, and what a split did before
    b->slots[slot].store(reinterpret_cast<std::uintptr_t>(n), std::memory_order_release);
    set_state(*b, s | tags::at(tags::of(hash), slot), own);
    return true;
  }

  // The state without the tags of the nodes whose hash has the bit, if it is `own`. Under the lock.
  std::uint64_t without(std::uint32_t bit, std::uint64_t own) const noexcept {
    std::uint64_t left = own;
    for (std::uint64_t m = tags::used(own); m != 0; m &= m - 1) {
      const std::size_t slot = tags::first(m);
      if ((node_in(slot)->hash & bit) != 0) left &= ~tags::at(0xff, slot);
    }
    return left;
  }

  // ---- a list of blocks that no bucket has

  static void give(basic_bucket*& list, basic_bucket* block) noexcept {
    // relaxed, here and below: not published
    block->slots[0].store(reinterpret_cast<std::uintptr_t>(list), std::memory_order_relaxed);
    list = block;
  }
  static basic_bucket* take(basic_bucket*& list) noexcept {
    basic_bucket* const taken = list;
    list = reinterpret_cast<basic_bucket*>(taken->slots[0].load(std::memory_order_relaxed));
    return taken;
  }

  Atomic<std::uint64_t> state;
  // Pointers to nodes; of a bucket that overflows, the last one points to a block instead, plus 1.
  Atomic<std::uintptr_t> slots[tags::kSlots];

 private:
  static basic_bucket* block_of(std::uintptr_t word) noexcept {
    return reinterpret_cast<basic_bucket*>(word - kBlock);
  }

  void set_state(basic_bucket& of, std::uint64_t made, std::uint64_t& own) noexcept {
    if (CORBEL_LIKELY(&of == this)) {
      own = made;
    } else {
      // (3) release: publishes the slots, and what a split did before
      of.state.store(made, std::memory_order_release);
    }
  }

  // Moves the node in the last slot to a block, which takes the slot. All slots are taken, and the
  // state is `own`. Returns what it has to be.
  std::uint64_t add_block(std::uint64_t own, basic_bucket& added) noexcept {
    // relaxed: (9) publishes it
    added.slots[0].store(slots[kLastSlot].load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
    added.state.store(tags::at(tags::get(own, kLastSlot), 0), std::memory_order_relaxed);
    // (9) release: publishes the block
    slots[kLastSlot].store(reinterpret_cast<std::uintptr_t>(&added) | kBlock,
                           std::memory_order_release);
    return (own & ~tags::at(0xff, kLastSlot)) | tags::kOverflows;
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_BUCKET_HPP
