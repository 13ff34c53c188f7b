// SPDX-License-Identifier: Apache-2.0
// The buckets of a concurrent hash map: a cache line each, which threads read without locks, and
// which grow in number by splitting bucket after bucket. Not for programs to include.
#ifndef CORBEL_DETAIL_HASH_BUCKETS_HPP
#define CORBEL_DETAIL_HASH_BUCKETS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/hash_bucket.hpp>
#include <corbel/detail/hash_bucket_segments.hpp>
#include <corbel/detail/hash_tags.hpp>
#include <corbel/detail/highest_bit.hpp>
#include <corbel/detail/swap_atomics.hpp>

namespace corbel {
namespace detail {

// There are 2^28 buckets at most, 16 GiB. Elements beyond what they are for make them overflow.
struct hash_buckets_sizes {
  static constexpr unsigned kFirstBits = 1;
  static constexpr std::size_t kSegments = 28;
  // A thread that makes the table grow splits as many buckets at a time.
  static constexpr std::size_t kBatch = 32;
  // How many nodes a bucket gets on average: between 3 and 4.5.
  static constexpr std::size_t kNodes = 4;
};

// Linear hashing (W. Litwin, 1980). There are count() buckets, between 2^k and 2^(k+1). Bucket
// i < 2^k has the hashes that equal i modulo 2^(k+1), or modulo 2^k while bucket i + 2^k, its
// child, does not exist or is not split off yet.
//
// The state of a bucket has a tag for each slot, a byte that depends on the hash and is 0 if the
// slot is free; whether a thread has locked the bucket to change it; and a version. So a thread
// that looks for a key reads one cache line and then, as a rule, the node with the key. It does not
// lock, and is in a reading section, which keeps unlinked nodes and blocks from being freed. Why it
// finds an element that is linked as long as it looks:
//
//  - A node that is linked gets a slot (4), then a tag (3). Erasing takes the tag away (5). As long
//    as the element stays in its slot, every state has its tag, and the slot points to it.
//  - If the bucket is full when another node comes, the node in the last slot moves to a new block,
//    which then takes the last slot (9). A reader that has the state from before, and goes by the
//    node's tag to the last slot, finds the block there and goes on in it.
//  - If an erasure makes a block empty, and another block follows, what pointed to it points to
//    that one instead (9). The empty block does not change: a reader in it goes on to what followed
//    it. The last block stays: until a split, a slot that points to a block always does.
//  - A split publishes the child with the nodes that it gets (6), and then the parent without them,
//    with its next version (7). Only then slots change: nodes in blocks move to slots that are free
//    now (4), and the blocks are unlinked, not changed, if all fit. The state that says so has the
//    next version (3). A reader that misses a node because it sees a slot or a block as it was left
//    after (7) has acquired (7). Then it finds at the end that the version is not the one that it
//    began with, or that another bucket is responsible, and looks again. One that sees nothing of
//    it finds the node in its old place.
//  - A reader that begins with the state (7) finds in the blocks what is not in the slots, unless
//    the last slot has changed; which happens after (3) with the next version.
//  - A reader that sees the state (7), and came by a number of buckets or by a child's state from
//    before, finds (6) when it looks at the end which bucket is responsible.
//
// Versions do not come round: a bucket gets two in each of 27 splits at most, and there are 64.
//
// A thread that has locked a bucket looks whether that is still responsible: the split of a child
// needs the lock of its parent. So it stays responsible until it is unlocked. Blocks are changed
// under the lock of their bucket.
//
// A `Source` has memory: allocate_buckets(n), which may throw, free_buckets(memory, n), and
// retire_block(block), which frees the block when no thread reads it any more.
//
// The numbers are those of the atomic operations. The atomics and the sizes are parameters so that
// a model checker can run this very source (test/model/hash_map_model.cpp).
template <template <typename> class Atomic, typename Sizes>
class basic_hash_buckets {
 public:
  using bucket = basic_bucket<Atomic>;

  basic_hash_buckets() noexcept
      : size_(size_of(kFirstBuckets)), split_(kFirstBuckets), growing_(false), missed_(false) {}
  basic_hash_buckets(const basic_hash_buckets&) = delete;
  basic_hash_buckets& operator=(const basic_hash_buckets&) = delete;

  // The number of buckets, also of those not split off yet.
  std::size_t count() const noexcept {
    // (1) acquire: sees the buckets' memory, published by (10)
    return count_of(size_.load(std::memory_order_acquire));
  }

  // ---- reading

  // Calls visit(node) for the nodes with the hash, until it returns true; returns whether it did.
  // The caller is in a reading section.
  template <typename Visit>
  bool look(std::uint32_t hash, const Visit& visit) const {
    for (place in = responsible(hash);;) {
      if (in.in->look(in.state, hash, visit)) return true;
      const place now = responsible(hash);
      if (CORBEL_LIKELY(now.in == in.in && ((now.state ^ in.state) & tags::kVersion) == 0)) {
        return false;
      }
      in = now;
    }
  }

  // Returns the node with the hash for which is_it(node) is true, and its bucket; nullptr if there
  // is none. No thread changes the buckets.
  template <typename IsIt>
  hashed_node* find_only(std::uint32_t hash, std::size_t& in, const IsIt& is_it) const {
    hashed_node* found = nullptr;
    in = bucket_of(hash);
    for_each_in(in, [&](hashed_node* n) {
      if (n->hash != hash || !is_it(n)) return false;
      found = n;
      return true;
    });
    return found;
  }

  // The bucket that is responsible for the hash. No thread changes the buckets.
  std::size_t bucket_of(std::uint32_t hash) const noexcept {
    // relaxed, here and below: no thread changes them
    const std::size_t i = index_of(hash, size_.load(std::memory_order_relaxed));
    const bool is_split = at(i).state.load(std::memory_order_relaxed) != tags::kNotSplit;
    return is_split ? i : parent_of(i);
  }

  // Calls visit(node) for the nodes of bucket i < count() until it returns true. No thread changes
  // the buckets.
  template <typename Visit>
  void for_each_in(std::size_t i, const Visit& visit) const {
    if (at(i).state.load(std::memory_order_relaxed) == tags::kNotSplit) return;
    at(i).for_each(at(i).state.load(std::memory_order_relaxed), visit);
  }

  // ---- changing

  // Empty blocks, which it frees at the end.
  template <typename Source>
  class spare_blocks {
   public:
    explicit spare_blocks(const Source& source) noexcept : source_(source) {}
    ~spare_blocks() {
      while (first_ != nullptr) source_.free_buckets(bucket::take(first_), 1);
    }
    spare_blocks(const spare_blocks&) = delete;
    spare_blocks& operator=(const spare_blocks&) = delete;

    // Throws what the source throws.
    void add() { bucket::give(first_, ::new (source_.allocate_buckets(1)) bucket(0)); }

   private:
    friend class basic_hash_buckets;

    const Source& source_;
    bucket* first_ = nullptr;
  };

  // A locked bucket, and perhaps a node in it.
  class locked {
   public:
    // Locks the bucket that is responsible for the hash.
    locked(const basic_hash_buckets& buckets, std::uint32_t hash) noexcept {
      for (backoff wait;;) {
        const place in = buckets.responsible(hash);
        if (!try_lock(*in.in, in.state)) {
          wait.pause();
          continue;
        }
        if (CORBEL_LIKELY(buckets.responsible(hash).in == bucket_)) break;
        unlock();
      }
    }
    ~locked() {
      if (bucket_ != nullptr) unlock();
    }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

    // Goes to the node with the hash for which is_it(node) is true, and returns it; or nullptr.
    template <typename IsIt>
    hashed_node* find(std::uint32_t hash, const IsIt& is_it) {
      const std::uint64_t wanted = tags::repeated(tags::of(hash));
      before_ = nullptr;
      at_ = bucket_;
      for (std::uint64_t state = state_;;) {
        for (std::uint64_t m = tags::matches(state, wanted); m != 0; m &= m - 1) {
          // relaxed, here and below: only the lock's holder writes
          slot_ = tags::first(m);
          hashed_node* const n = at_->node_in(slot_);
          if (n->hash == hash && is_it(n)) return n;
        }
        if ((state & tags::kOverflows) == 0) return nullptr;
        before_ = at_;
        at_ = at_->block();
        state = at_->state.load(std::memory_order_relaxed);
      }
    }

    // Unlinks the node that find() went to. No look-up that begins afterwards finds it. Returns
    // nullptr, or a block that it has unlinked, since that was empty: the caller retires it after
    // it has unlocked the bucket.
    bucket* unlink() noexcept {
      const std::uint64_t others = ~tags::at(0xff, slot_);
      if (CORBEL_LIKELY(at_ == bucket_)) {
        state_ &= others;
        publish(state_ | tags::kLocked);
        return nullptr;
      }
      const std::uint64_t left = at_->state.load(std::memory_order_relaxed) & others;
      // (5) release: what a reader acquires that misses the node because of a split
      at_->state.store(left, std::memory_order_release);
      // The last block stays, until a split.
      if ((left & tags::kOverflows) == 0 || tags::used(left) != 0) return nullptr;
      before_->skip(*at_);
      return at_;
    }

    // Links `n`. Returns false if that takes a block and there is none.
    template <typename Source>
    bool link(hashed_node* n, std::uint32_t hash, spare_blocks<Source>& spare) noexcept {
      return bucket_->put(state_, n, hash, spare.first_);
    }

    void unlock() noexcept {
      publish(state_);
      bucket_ = nullptr;
    }

   private:
    friend class basic_hash_buckets;

    explicit locked(bucket& parent) noexcept {
      spin_until([&] {
        // relaxed: try_lock decides
        return try_lock(parent, parent.state.load(std::memory_order_relaxed));
      });
    }

    bool try_lock(bucket& b, std::uint64_t state) noexcept {
      state_ = state;
      // (2) acquire: sees the bucket as (3) published it. relaxed on failure: tried again.
      if ((state & tags::kLocked) != 0 ||
          !b.state.compare_exchange_strong(state, state | tags::kLocked, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
        return false;
      }
      bucket_ = &b;
      return true;
    }

    void publish(std::uint64_t state) noexcept {
      // (3), (5), (7) release: publishes the slots, to (2) also the blocks, and to readers what the
      // split of a child did before
      bucket_->state.store(state, std::memory_order_release);
    }

    bucket* bucket_ = nullptr;
    std::uint64_t state_ = 0;   // what the bucket's state will be when it is unlocked
    bucket* at_ = nullptr;      // the block and the slot of the node
    bucket* before_ = nullptr;  // has a pointer to the block
    std::size_t slot_ = 0;
  };

  // ---- growing

  // Adds buckets and splits them off, if there are fewer than `wanted` and no other thread is
  // adding any. Throws what the source throws; then the buckets that are not split off are so when
  // there is memory.
  template <typename Source>
  void grow(std::size_t wanted, const Source& source) {
    // relaxed: a hint
    if (growing_.load(std::memory_order_relaxed)) return;
    // (13) acquire: sees what the thread did that added buckets before, published by (14)
    if (growing_.exchange(true, std::memory_order_acquire)) return;
    std::size_t from = 0;
    std::size_t to = 0;
    {
      end_of_growing at_end{growing_};
      from = count();  // changes only while growing_ is set
      to = from;
      if (from < wanted && from < kMaxBuckets) to = add_buckets(from, source);
    }
    if (from == to) return;
    fetch(from, to);
    split_off(from, to, source);
  }

  // Makes at least `wanted` buckets, rounded up to a power of two (as many as there can be, if that
  // is less), and waits for the threads that are adding others.
  template <typename Source>
  void reserve(std::size_t wanted, const Source& source) {
    if (wanted > kMaxBuckets) wanted = kMaxBuckets;
    if ((wanted & (wanted - 1)) != 0) wanted = std::size_t{2} << highest_bit(wanted);
    spin_until([&] {
      for (;;) {
        const std::size_t before = count();
        if (before >= wanted) return true;
        grow(wanted, source);
        if (count() == before) return false;
      }
    });
  }

  // The same for buckets without nodes that no other thread uses.
  template <typename Source>
  void reserve_empty(std::size_t wanted, const Source& source) {
    if (wanted > kMaxBuckets) wanted = kMaxBuckets;
    // relaxed, here and below: no other thread uses the object
    for (std::size_t n = count(); n < wanted; n *= 2) {
      const std::size_t from = n;
      n = std::size_t{1} << highest_bit(n);
      segments_.add(n, source);
      for (std::size_t i = from; i < 2 * n; ++i) ::new (&at(i)) bucket(0);
      size_.store(size_of(2 * n), std::memory_order_relaxed);
      split_.store(2 * n, std::memory_order_relaxed);
    }
  }

  // The number of buckets if all that exist in memory were split off.
  std::size_t capacity() const noexcept {
    const std::size_t n = count();
    const std::size_t whole = std::size_t{1} << highest_bit(n);
    return whole == n ? n : 2 * whole;
  }

  // Forgets all nodes, and frees the blocks and all buckets but the first ones. No other thread
  // uses the object.
  template <typename Source>
  void reset(const Source& source) noexcept {
    const std::size_t buckets = count();
    for (std::size_t i = 0; i < buckets; ++i) {
      // relaxed, here and below: no other thread uses the object
      const std::uint64_t state = at(i).state.load(std::memory_order_relaxed);
      if (state != tags::kNotSplit && (state & tags::kOverflows) != 0) {
        bucket::each_block(at(i).block(), [&](bucket* freed) { source.free_buckets(freed, 1); });
      }
    }
    segments_.free_added(source);
    for (std::size_t i = 0; i < kFirstBuckets; ++i) {
      at(i).state.store(0, std::memory_order_relaxed);
    }
    size_.store(size_of(kFirstBuckets), std::memory_order_relaxed);
    split_.store(kFirstBuckets, std::memory_order_relaxed);
    missed_.store(false, std::memory_order_relaxed);
  }

  // Exchanges all nodes and buckets. No other thread uses either object.
  void swap(basic_hash_buckets& other) noexcept {
    segments_.swap(other.segments_);
    swap_atomics(size_, other.size_);
    swap_atomics(split_, other.split_);
    swap_atomics(missed_, other.missed_);
  }

 private:
  using tags = hash_tags;

  using segments = basic_bucket_segments<Atomic, Sizes>;

  static_assert(2 * Sizes::kSegments <= 64, "versions do not come round");
  static constexpr std::size_t kFirstBuckets = segments::kFirst;
  static constexpr std::size_t kMaxBuckets = segments::kMax;
  static constexpr std::size_t kLastSlot = bucket::kLastSlot;

  // The bucket that is responsible for a hash, and its state.
  struct place {
    bucket* in;
    std::uint64_t state;
  };

  struct end_of_growing {
    Atomic<bool>& growing;
    // (14) release: publishes what the thread did to (13)
    ~end_of_growing() { growing.store(false, std::memory_order_release); }
  };

  // Counts the buckets that were split off at the end of a scope.
  struct end_of_splitting {
    basic_hash_buckets& of;
    std::size_t left;
    std::size_t done;
    ~end_of_splitting() {
      // relaxed: a hint to add_buckets()
      if (left != 0) of.missed_.store(true, std::memory_order_relaxed);
      // (11) release: publishes the splits to add_buckets()
      of.split_.fetch_add(done, std::memory_order_release);
    }
  };

  // ---- places

  bucket& at(std::size_t i) const noexcept { return segments_.at(i); }

  place responsible(std::uint32_t hash) const noexcept {
    const std::uint64_t size = size_.load(std::memory_order_acquire);  // (1) acquire: as in count()
    const std::size_t i = index_of(hash, size);
    place in{&at(i), 0};
    // (12) acquire: sees the slots, published by (3) or (6), and what a split did before (7)
    in.state = in.in->state.load(std::memory_order_acquire);
    if (CORBEL_UNLIKELY(in.state == tags::kNotSplit)) {
      in.in = &at(parent_of(i));
      in.state = in.in->state.load(std::memory_order_acquire);  // (12)
    }
    return in;
  }
  static std::size_t index_of(std::uint32_t hash, std::uint64_t size) noexcept {
    const auto mask = static_cast<std::uint32_t>(size);
    const std::size_t i = hash & mask;
    // Without a branch, which would often be predicted wrongly.
    return i & (mask >> (i >= count_of(size) ? 1 : 0));
  }

  static std::size_t parent_of(std::size_t i) noexcept {
    return i ^ (std::size_t{1} << highest_bit(i));
  }

  // ---- growing

  // Adds buckets that are not split off. Returns their new number.
  template <typename Source>
  std::size_t add_buckets(std::size_t from, const Source& source) {
    const std::size_t whole = std::size_t{1} << highest_bit(from);
    if (from == whole) {
      // relaxed: a hint, see end_of_splitting
      if (CORBEL_UNLIKELY(missed_.load(std::memory_order_relaxed))) split_missed(from, source);
      // Parents must be split off before their children are added, so that a bucket has the hashes
      // of one child at most. acquire: sees the splits, published by (11)
      if (split_.load(std::memory_order_acquire) != from) return from;
      segments_.add(from, source);
    }
    const std::size_t to = 2 * whole - from < Sizes::kBatch ? 2 * whole : from + Sizes::kBatch;
    for (std::size_t i = from; i < to; ++i) ::new (&at(i)) bucket(tags::kNotSplit);
    size_.store(size_of(to),
                std::memory_order_release);  // (10) release: publishes the buckets to (1)
    return to;
  }

  // Fetches what splitting off these buckets reads, which is spread over the memory, all at once.
  void fetch(std::size_t from, std::size_t to) const noexcept {
    for (std::size_t i = from; i < to; ++i) {
      const bucket& parent = at(parent_of(i));
      // relaxed: not followed
      for (std::uint64_t m = tags::used(parent.state.load(std::memory_order_relaxed)); m != 0;
           m &= m - 1) {
        const void* const node = parent.node_in(tags::first(m));
        __builtin_prefetch(node);
      }
    }
  }

  template <typename Source>
  void split_off(std::size_t from, std::size_t to, const Source& source) {
    end_of_splitting end{*this, to - from, 0};
    for (std::size_t i = from; i < to; ++i, --end.left) end.done += split_off(i, source) ? 1 : 0;
  }

  // Splits those off that were left out of the buckets below `end`, a power of two.
  template <typename Source>
  void split_missed(std::size_t end, const Source& source) {
    missed_.store(false, std::memory_order_relaxed);  // relaxed: a hint
    split_off(end / 2, end, source);
  }

  // Splits off bucket i. Returns false if another thread was faster.
  template <typename Source>
  bool split_off(std::size_t i, const Source& source) {
    const std::uint32_t bit = std::uint32_t{1} << highest_bit(i);
    bucket& child = at(i);
    // relaxed: looked at again under the lock
    if (child.state.load(std::memory_order_relaxed) != tags::kNotSplit) return false;
    spare_blocks<Source> spare(source);
    for (std::size_t blocks = 0;;) {
      bucket* unlinked = nullptr;
      std::size_t moving = 0;
      {
        locked parent(at(parent_of(i)));
        // relaxed: changed only under the lock of the parent, until it is split off
        if (child.state.load(std::memory_order_relaxed) != tags::kNotSplit) return false;
        std::size_t staying = 0;
        parent.bucket_->for_each(parent.state_, [&](const hashed_node* n) {
          ++((n->hash & bit) != 0 ? moving : staying);
          return false;
        });
        if (moving <= tags::kSlots + blocks * kLastSlot) {
          unlinked = move(parent, child, bit, staying, spare.first_);
          blocks = SIZE_MAX;
        }
      }
      bucket::each_block(unlinked, [&](bucket* block) { source.retire_block(block); });
      if (blocks == SIZE_MAX) return true;
      for (; moving > tags::kSlots + blocks * kLastSlot; ++blocks) spare.add();
    }
  }

  // Moves the nodes with the bit from a bucket, in which `staying` nodes stay, to its child.
  // Returns the blocks that it unlinks.
  static bucket* move(locked& parent, bucket& child, std::uint32_t bit, std::size_t staying,
                      bucket*& spare) noexcept {
    bucket& b = *parent.bucket_;
    std::uint64_t state = 0;
    b.for_each(parent.state_, [&](hashed_node* n) {
      if ((n->hash & bit) != 0) child.put(state, n, n->hash, spare);
      return false;
    });
    // (6) release: publishes the child's nodes
    child.state.store(state | tags::kLocked, std::memory_order_release);
    bucket* const blocks = (parent.state_ & tags::kOverflows) != 0 ? b.block() : nullptr;
    parent.state_ = b.without(bit, parent.state_) + tags::kVersionStep;
    parent.publish(parent.state_ | tags::kLocked);  // (7)
    bucket* unlinked = nullptr;
    // Not into the last slot, where readers look for the blocks.
    if (blocks != nullptr && staying <= kLastSlot) {
      bucket* none = nullptr;
      // relaxed: only the lock's holder writes
      blocks->for_each(blocks->state.load(std::memory_order_relaxed), [&](hashed_node* n) {
        if ((n->hash & bit) == 0) b.put(parent.state_, n, n->hash, none);
        return false;
      });
      parent.state_ = (parent.state_ & ~tags::kOverflows) + tags::kVersionStep;
      unlinked = blocks;
    } else {
      bucket::each_block(blocks, [&](bucket* block) {
        // relaxed: only the lock's holder writes. (5) release: as in unlink()
        block->state.store(block->without(bit, block->state.load(std::memory_order_relaxed)),
                           std::memory_order_release);
      });
    }
    child.state.store(state, std::memory_order_release);  // (8) release: orders (7) before changes
    return unlinked;
  }

  // The number of buckets, and the bits of a hash that choose one of the next power of two buckets:
  // one word, since each look-up reads both.
  static std::size_t count_of(std::uint64_t size) noexcept {
    return static_cast<std::size_t>(size >> 32);
  }
  static std::uint64_t size_of(std::size_t buckets) noexcept {
    return std::uint64_t{buckets} << 32 | ((std::size_t{2} << highest_bit(buckets - 1)) - 1);
  }

  Atomic<std::uint64_t> size_;
  segments segments_;
  Atomic<std::size_t> split_;  // how many buckets are split off
  Atomic<bool> growing_;       // a thread is adding buckets
  Atomic<bool> missed_;        // splitting has failed
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_BUCKETS_HPP
