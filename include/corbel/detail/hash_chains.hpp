// SPDX-License-Identifier: Apache-2.0
// The buckets of a concurrent hash map: chains of nodes that threads read without locks, and that
// grow by splitting bucket after bucket. Not for programs to include.
#ifndef CORBEL_DETAIL_HASH_CHAINS_HPP
#define CORBEL_DETAIL_HASH_CHAINS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/highest_bit.hpp>

namespace corbel {
namespace detail {

// Whether hash a comes before b in the order of their reversed bits: in the lowest bit in which
// they differ, a has 0.
inline bool comes_before(std::uint32_t a, std::uint32_t b) noexcept {
  const std::uint32_t different = a ^ b;
  return (b & different & (0 - different)) != 0;
}

// The part of a node that the chains know.
template <template <typename> class Atomic>
struct basic_chain_node {
  basic_chain_node() noexcept : next(nullptr), hash(0) {}

  Atomic<basic_chain_node*> next;
  std::uint32_t hash;  // set before the node is linked
};

// There are 2^31 buckets at most, in as many segments as 32 bits need.
struct hash_chains_sizes {
  static constexpr unsigned kFirstBits = 3;
  static constexpr std::size_t kSegments = 29;
  // A thread that makes the table grow splits as many buckets at a time.
  static constexpr std::size_t kBatch = 64;
};

// Linear hashing (W. Litwin, 1980) over chains in the order of the reversed hashes (O. Shalev and
// N. Shavit, "Split-Ordered Lists: Lock-Free Extensible Hash Tables", 2006). There are count()
// buckets, between 2^k and 2^(k+1). Bucket i < 2^k has the hashes that equal i modulo 2^(k+1), or
// modulo 2^k while bucket i + 2^k, its child, does not exist or is not split off yet. In the order
// of a chain these hashes are its end, so that a split cuts the chain in two.
//
// A bucket is a word: the first node, and whether a thread has locked the bucket to change its
// chain. Threads read chains without locking, in a reading section. Why they find what they look
// for:
//
//  - A node is linked by one store (4), when its own link is set. It is unlinked by one store (5),
//    and its own link stays as it is; the reading sections keep it from being freed. A reader on a
//    node that was unlinked after the reader began goes on to what came after it then. What is
//    linked later elsewhere, it may miss: it counts as having looked before that. (S. Heller et
//    al., "A Lazy Concurrent List-Based Set Algorithm", 2005.)
//  - A split writes the child's word (6) before it cuts the parent's chain (7). A reader of the
//    parent that sees no cut reads the child's nodes, too, if it does not count as earlier than
//    what was changed in the child: that begins after (8), thus after (7). A reader that sees the
//    cut, and nothing, looks which bucket is responsible now: it has read from (7), so it finds
//    (6), and reads the child.
//
// A thread that has locked a bucket looks whether that is still responsible: the split of a child
// needs the lock of its parent. So it stays responsible until it is unlocked.
//
// The numbers are those of the atomic operations. The atomics and the sizes are parameters so that
// a model checker can run this very source (test/model/hash_map_model.cpp).
template <template <typename> class Atomic, typename Sizes>
class basic_hash_chains {
 public:
  using node = basic_chain_node<Atomic>;
  using bucket = Atomic<std::uintptr_t>;

  static constexpr std::size_t kFirstBuckets = std::size_t{1} << Sizes::kFirstBits;

  basic_hash_chains() noexcept
      : size_(size_of(kFirstBuckets)), split_(kFirstBuckets), growing_(false) {
    // relaxed: published with the object
    for (Atomic<bucket*>& segment : segments_) segment.store(nullptr, std::memory_order_relaxed);
    segments_[0].store(first_, std::memory_order_relaxed);
    for (bucket& b : first_) b.store(kEmpty, std::memory_order_relaxed);
  }
  basic_hash_chains(const basic_hash_chains&) = delete;
  basic_hash_chains& operator=(const basic_hash_chains&) = delete;

  // The number of buckets, also of those not split off yet.
  std::size_t count() const noexcept {
    // (1) acquire: sees the buckets' memory, published by (9)
    return count_of(size_.load(std::memory_order_acquire));
  }

  // ---- reading

  // Calls visit(node) for the nodes with the hash, until it returns true; returns whether it did.
  // The caller is in a reading section.
  template <typename Visit>
  bool look(std::uint32_t hash, const Visit& visit) const {
    std::uintptr_t word = 0;
    const bucket* in = responsible(hash, word);
    for (;;) {
      for (const node* n = first_of(word); n != nullptr; n = next_of(*n)) {
        if (n->hash == hash) {
          if (visit(const_cast<node*>(n))) return true;
        } else if (comes_before(hash, n->hash)) {
          break;
        }
      }
      const bucket* const now = responsible(hash, word);
      if (CORBEL_LIKELY(now == in)) return false;
      in = now;
    }
  }

  // Returns the node with the hash for which is_it(node) is true, and its bucket; nullptr if there
  // is none. No thread changes the chains.
  template <typename IsIt>
  node* find_only(std::uint32_t hash, std::size_t& in, const IsIt& is_it) const {
    std::uintptr_t word = 0;
    in = responsible_index(hash, word);
    for (node* n = first_of(word); n != nullptr; n = next_of(*n)) {
      if (comes_before(hash, n->hash)) break;
      if (n->hash == hash && is_it(n)) return n;
    }
    return nullptr;
  }

  // The first node of bucket i < count(), nullptr if it is empty or not split off.
  node* first_in(std::size_t i) const noexcept {
    // (11) acquire: sees the node, published by (3) or (6)
    return first_of(at(i).load(std::memory_order_acquire));
  }
  // The node after `n` in its chain.
  static node* next_of(const node& n) noexcept {
    // (12) acquire: sees the node, published by (4); and what a split did before (7)
    return n.next.load(std::memory_order_acquire);
  }

  // ---- changing

  // A locked bucket, and a position in its chain.
  class locked {
   public:
    // Locks the bucket that is responsible for the hash.
    locked(basic_hash_chains& chains, std::uint32_t hash) noexcept {
      for (backoff wait;;) {
        bucket_ = chains.responsible(hash, word_);
        if (!try_lock(*bucket_, word_)) {
          wait.pause();
          continue;
        }
        std::uintptr_t ignored = 0;
        if (CORBEL_LIKELY(chains.responsible(hash, ignored) == bucket_)) break;
        unlock();
      }
      to_first();
    }
    ~locked() {
      if (bucket_ != nullptr) unlock();
    }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

    // The node at the position; nullptr at the end.
    node* here() const noexcept { return here_; }
    void to_next() noexcept {
      before_ = here_;
      here_ =
          here_->next.load(std::memory_order_relaxed);  // relaxed: only the lock's holder writes
    }
    // Goes on to the first node that is not before the hash.
    void to(std::uint32_t hash) noexcept {
      while (here_ != nullptr && comes_before(here_->hash, hash)) to_next();
    }

    // Links `n` before the position, and makes it the position.
    void link(node* n) noexcept {
      n->next.store(here_, std::memory_order_relaxed);  // relaxed: published by (4)
      put(n);
    }
    // Unlinks the node at the position.
    void unlink() noexcept {
      put(here_->next.load(std::memory_order_relaxed));  // relaxed: only the lock's holder writes
    }

    void unlock() noexcept {
      // (3) release: publishes the changes to (2); (4), (5): also those of the first node
      bucket_->store(word_, std::memory_order_release);
      bucket_ = nullptr;
    }

   private:
    friend class basic_hash_chains;

    explicit locked(bucket& parent) noexcept : bucket_(&parent) {
      spin_until([&] {
        word_ = parent.load(std::memory_order_relaxed);  // relaxed: try_lock decides
        return try_lock(parent, word_);
      });
      to_first();
    }

    static bool try_lock(bucket& b, std::uintptr_t& word) noexcept {
      // (2) acquire: sees the chain as (3) published it. relaxed on failure: tried again.
      return (word & kLocked) == 0 &&
             b.compare_exchange_strong(word, word | kLocked, std::memory_order_acquire,
                                       std::memory_order_relaxed);
    }
    void to_first() noexcept {
      before_ = nullptr;
      here_ = first_of(word_);
    }
    void put(node* n) noexcept {
      if (before_ != nullptr) {
        // (4), (5), (7) release: publishes a new node, and what the split of a child did before
        before_->next.store(n, std::memory_order_release);
      } else {
        word_ = reinterpret_cast<std::uintptr_t>(n);
      }
      here_ = n;
    }

    bucket* bucket_;
    std::uintptr_t word_;  // what the bucket will be when it is unlocked
    node* before_;
    node* here_;
  };

  // ---- growing

  // Adds buckets and splits them off, if there are fewer than `wanted` and no other thread is
  // adding any. allocate(n) returns memory for n buckets; if it throws, nothing has changed.
  template <typename Allocate>
  void grow(std::size_t wanted, const Allocate& allocate) {
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
      if (from < wanted && from < kMaxBuckets) to = add_buckets(from, allocate);
    }
    split_off(from, to);
  }

  // Makes at least `wanted` buckets (as many as there can be, if that is less), and waits for the
  // threads that are adding others.
  template <typename Allocate>
  void reserve(std::size_t wanted, const Allocate& allocate) {
    if (wanted > kMaxBuckets) wanted = kMaxBuckets;
    spin_until([&] {
      grow(wanted, allocate);
      return count() >= wanted;
    });
  }

  // The same for chains without nodes that no other thread uses.
  template <typename Allocate>
  void reserve_empty(std::size_t wanted, const Allocate& allocate) {
    if (wanted > kMaxBuckets) wanted = kMaxBuckets;
    // relaxed, here and below: no other thread uses the object
    for (std::size_t n = count(); n < wanted; n *= 2) {
      const std::size_t from = n;
      n = std::size_t{1} << highest_bit(n);
      ensure_segment(n, allocate);
      for (std::size_t i = from; i < 2 * n; ++i) ::new (&at(i)) bucket(kEmpty);
      size_.store(size_of(2 * n), std::memory_order_relaxed);
      split_.store(2 * n, std::memory_order_relaxed);
    }
  }

  // The greatest number of buckets, and the number if all that exist in memory were split off.
  static constexpr std::size_t max_count() noexcept { return kMaxBuckets; }
  std::size_t capacity() const noexcept {
    const std::size_t n = count();
    const std::size_t whole = std::size_t{1} << highest_bit(n);
    return whole == n ? n : 2 * whole;
  }

  // Forgets all nodes and all buckets but the first ones. free(memory, n) takes back the memory of
  // n buckets. No other thread uses the object.
  template <typename Free>
  void reset(const Free& free) noexcept {
    for (std::size_t s = 1; s < kSegments; ++s) {
      // relaxed, here and below: no other thread uses the object
      bucket* const segment = segments_[s].load(std::memory_order_relaxed);
      if (segment == nullptr) break;
      free(segment, kFirstBuckets << (s - 1));
      segments_[s].store(nullptr, std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < kFirstBuckets; ++i) {
      at(i).store(kEmpty, std::memory_order_relaxed);
    }
    size_.store(size_of(kFirstBuckets), std::memory_order_relaxed);
    split_.store(kFirstBuckets, std::memory_order_relaxed);
  }

  // Exchanges all nodes and buckets. No other thread uses either object.
  void swap(basic_hash_chains& other) noexcept {
    swap_words(size_, other.size_);
    swap_words(split_, other.split_);
    for (std::size_t s = 1; s < kSegments; ++s) swap_words(segments_[s], other.segments_[s]);
    for (std::size_t i = 0; i < kFirstBuckets; ++i) {
      swap_words(first_[i], other.first_[i]);
    }
  }

 private:
  enum : std::uintptr_t { kEmpty = 0, kLocked = 1, kNotSplit = 2 };
  static constexpr unsigned kFirstBits = Sizes::kFirstBits;
  static constexpr std::size_t kSegments = Sizes::kSegments;
  static constexpr std::size_t kMaxBuckets = kFirstBuckets << (kSegments - 1);

  struct end_of_growing {
    Atomic<bool>& growing;
    // (14) release: publishes what the thread did to (13)
    ~end_of_growing() { growing.store(false, std::memory_order_release); }
  };

  static node* first_of(std::uintptr_t word) noexcept {
    return reinterpret_cast<node*>(word & ~(std::uintptr_t{kLocked} | kNotSplit));
  }

  template <typename Word>
  static void swap_words(Word& a, Word& b) noexcept {
    // relaxed: no other thread uses either object
    const auto kept = a.load(std::memory_order_relaxed);
    a.store(b.load(std::memory_order_relaxed), std::memory_order_relaxed);
    b.store(kept, std::memory_order_relaxed);
  }

  // Segment 0 has the first buckets; segment s has as many as all before it together.
  bucket& at(std::size_t i) const noexcept {
    const unsigned top = highest_bit(i | (kFirstBuckets - 1));
    const std::size_t offset = i & (((std::size_t{1} << top) - 1) | (kFirstBuckets - 1));
    // relaxed: (1) or the flag growing_ has published it
    return segments_[top - kFirstBits + 1].load(std::memory_order_relaxed)[offset];
  }

  // Returns the bucket that is responsible for the hash, and its word.
  bucket* responsible(std::uint32_t hash, std::uintptr_t& word) const noexcept {
    return &at(responsible_index(hash, word));
  }
  std::size_t responsible_index(std::uint32_t hash, std::uintptr_t& word) const noexcept {
    const std::uint64_t size = size_.load(std::memory_order_acquire);  // (1) acquire: as in count()
    const auto mask = static_cast<std::uint32_t>(size);
    std::size_t i = hash & mask;
    if (i >= count_of(size)) i &= mask >> 1;
    // (11) acquire: sees the first node, published by (3) or (6)
    word = at(i).load(std::memory_order_acquire);
    if (CORBEL_UNLIKELY(word == kNotSplit)) {
      i = parent_of(i);
      word = at(i).load(std::memory_order_acquire);  // (11)
    }
    return i;
  }

  static std::size_t parent_of(std::size_t i) noexcept {
    return i ^ (std::size_t{1} << highest_bit(i));
  }

  template <typename Allocate>
  void ensure_segment(std::size_t i, const Allocate& allocate) {
    Atomic<bucket*>& segment = segments_[highest_bit(i) - kFirstBits + 1];
    // relaxed: only the thread that has set growing_ writes it; (9) publishes it
    if (segment.load(std::memory_order_relaxed) != nullptr) return;
    segment.store(allocate(i), std::memory_order_relaxed);
  }

  // Adds buckets that are not split off. Returns their new number.
  template <typename Allocate>
  std::size_t add_buckets(std::size_t from, const Allocate& allocate) {
    const std::size_t whole = std::size_t{1} << highest_bit(from);
    if (from == whole) {
      // Parents must be split off before their children are added: a chain has the hashes of one
      // child at most. acquire: sees the splits, published by (10)
      if (split_.load(std::memory_order_acquire) != from) return from;
      ensure_segment(from, allocate);
    }
    const std::size_t to = 2 * whole - from < Sizes::kBatch ? 2 * whole : from + Sizes::kBatch;
    for (std::size_t i = from; i < to; ++i) ::new (&at(i)) bucket(kNotSplit);
    size_.store(size_of(to),
                std::memory_order_release);  // (9) release: publishes the buckets to (1)
    return to;
  }

  void split_off(std::size_t from, std::size_t to) noexcept {
    if (from == to) return;
    // The first nodes are spread over the memory: fetched all at once.
    for (std::size_t i = from; i < to; ++i) {
      // relaxed: not followed
      __builtin_prefetch(first_of(at(parent_of(i)).load(std::memory_order_relaxed)));
    }
    for (std::size_t i = from; i < to; ++i) split_off(i);
    // (10) release: publishes the splits to add_buckets()
    split_.fetch_add(to - from, std::memory_order_release);
  }

  void split_off(std::size_t i) noexcept {
    const std::uint32_t bit = std::uint32_t{1} << highest_bit(i);
    bucket& child = at(i);
    locked parent(at(parent_of(i)));
    while (parent.here() != nullptr && (parent.here()->hash & bit) == 0) parent.to_next();
    const std::uintptr_t word = reinterpret_cast<std::uintptr_t>(parent.here());
    // (6) release: publishes the child's nodes
    child.store(word | kLocked, std::memory_order_release);
    if (word != kEmpty) parent.put(nullptr);       // (7)
    child.store(word, std::memory_order_release);  // (8) release: orders (7) before later changes
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
  Atomic<bucket*> segments_[kSegments];
  bucket first_[kFirstBuckets];
  Atomic<std::size_t> split_;  // how many buckets are split off
  Atomic<bool> growing_;       // a thread is adding buckets
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_CHAINS_HPP
