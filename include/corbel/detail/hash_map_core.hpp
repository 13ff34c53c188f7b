// SPDX-License-Identifier: Apache-2.0
// What a concurrent hash map does with its elements: finding, inserting, erasing. Not for programs
// to include.
#ifndef CORBEL_DETAIL_HASH_MAP_CORE_HPP
#define CORBEL_DETAIL_HASH_MAP_CORE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/epoch.hpp>
#include <corbel/detail/hash_map_memory.hpp>
#include <corbel/detail/highest_bit.hpp>
#include <corbel/detail/succeeds.hpp>
#include <corbel/detail/thread_number.hpp>

namespace corbel {
namespace detail {

// How many elements there are, and which nodes were erased, of some of the threads.
class hash_map_stripe {
 public:
  hash_map_stripe() noexcept : locked_(false), count_(0) { static_cast<void>(unused_); }

  void lock() noexcept {
    // (1) acquire: sees the last critical section, which (2) published
    while (CORBEL_UNLIKELY(locked_.exchange(true, std::memory_order_acquire))) {
      // relaxed: the exchange decides
      spin_until([this] { return !locked_.load(std::memory_order_relaxed); });
    }
  }
  void unlock() noexcept {
    // (2) release: publishes the critical section to (1)
    locked_.store(false, std::memory_order_release);
  }

  // The number of elements inserted minus that of those erased, modulo 2^n. relaxed: the order of
  // the counts of different stripes is not defined anyway.
  std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  // Changes it; returns what it is now.
  std::size_t add(std::size_t n) noexcept {
    return count_.fetch_add(n, std::memory_order_relaxed) + n;  // relaxed: as in count()
  }

  retired_nodes<retired_node>& retired() noexcept { return retired_; }  // under the lock

 private:
  plain_atomic<bool> locked_;
  plain_atomic<std::size_t> count_;
  retired_nodes<retired_node> retired_;
  // Threads that use different stripes write different cache lines, as a rule.
  unsigned char unused_[kCacheLine - 2 * sizeof(std::size_t) - sizeof(retired_nodes<retired_node>)];
};

// No thread waits for an element while it has locked a bucket or is in a reading section: it backs
// off and begins again. In erase(), a thread that holds elements and is in a reading section waits
// for a bucket. It waits for the sections of other threads only while it has no bucket locked and
// is in no section itself. So there is no circle of waiting threads, unless those that hold
// elements or compare keys wait for others.
//
// The keys are compared under the lock of the bucket or of the element, or under a pin of the
// element (see element_lock.hpp), so that the key is not destroyed meanwhile. kPlain: keys are
// numbers or pointers, which a reader compares in an erased node, too: destroying them does
// nothing. Before an erasing function returns, no thread compares the erased key any more: programs
// may free what it points to. Only a thread that has the element locked or pinned can, then in a
// reading section.
//
// `Hash` hashes and compares keys: std::uint32_t hash(key), bool equal(key, key of an element).
template <typename Value, typename Hash, typename Allocator>
class hash_map_core {
 public:
  using value_type = Value;
  using node = hash_map_node<Value>;
  using memory = hash_map_memory<node, Value, Allocator>;
  using owner = hash_map_node_owner<memory, node>;
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::uint32_t kReader = element_lock::kReader;
  static constexpr std::uint32_t kWriter = element_lock::kWriter;

  hash_map_core(const Hash& hash, const Allocator& allocator) : hash_(hash), memory_(allocator) {}
  hash_map_core(const hash_map_core&) = delete;
  hash_map_core& operator=(const hash_map_core&) = delete;
  ~hash_map_core() { clear(); }

  const Hash& hash() const noexcept { return hash_; }
  const memory& source() const noexcept { return memory_; }
  memory& source() noexcept { return memory_; }
  const hash_buckets& buckets() const noexcept { return buckets_; }

  std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (const stripe& s : stripes_) sum += s.count();
    // Between an insertion and an erasure that it has not counted the sum may be negative.
    return static_cast<std::ptrdiff_t>(sum) < 0 ? 0 : sum;
  }

  // Finds the element and enters its lock as kHolder, if that is not kNone. Returns nullptr if
  // there is no such element.
  template <std::uint32_t kHolder, typename K>
  node* find(const K& key) {
    const std::uint32_t hash = hash_.hash(key);
    node* found = nullptr;
    for (backoff wait;;) {
      const outcome result = look<kHolder>(key, hash, found);
      if (CORBEL_LIKELY(result == outcome::kHeld)) return found;
      if (result == outcome::kDead) return nullptr;
      if (result == outcome::kBusy) wait.pause();
    }
  }

  // The same for a map that no thread changes, without the lock.
  template <typename K>
  node* find_only(const K& key, std::size_t& in) const {
    const std::uint32_t hash = hash_.hash(key);
    return static_cast<node*>(
        buckets_.find_only(hash, in, [&](hashed_node* n) { return hash_.equal(key, key_of(n)); }));
  }

  // Inserts the node of `spare`, which make() fills if it is empty, unless there is an element with
  // the key. Returns whether it did. `in` is the element of the key then; with kHolder its lock is
  // entered.
  template <std::uint32_t kHolder, typename K, typename Make>
  bool insert(const K& key, owner& spare, node*& in, const Make& make) {
    const std::uint32_t hash = hash_.hash(key);
    for (backoff wait;; wait.pause()) {
      outcome result = look<kHolder>(key, hash, in);
      if (result == outcome::kDead) {
        if (spare.empty()) make();
        result = link<kHolder>(key, hash, spare, in);
        if (result == outcome::kDead) return true;
      }
      if (result == outcome::kHeld) return false;
    }
  }

  template <typename K>
  bool erase(const K& key) {
    const std::uint32_t hash = hash_.hash(key);
    node* erased = nullptr;
    bool is_last = false;
    bucket* block = nullptr;
    {
      const reading_section section;
      hash_buckets::locked in(buckets_, hash);
      erased = find_in(in, key, hash);
      if (erased == nullptr) return false;
      block = in.unlink();
      is_last = erased->lock.kill();
    }
    end_erase(erased, is_last, block);
    return true;
  }

  // Erases an element that the caller is inside of as `holder`, which it leaves. Returns false if
  // it was erased already.
  bool erase(node* held, std::uint32_t holder) {
    bool was_alive = false;
    bool is_last = false;
    bucket* block = nullptr;
    {
      const reading_section section;
      hash_buckets::locked in(buckets_, held->hash);
      was_alive = !held->lock.is_dead();
      if (was_alive) {
        in.find(held->hash, [held](hashed_node* n) { return n == held; });
        block = in.unlink();
        is_last = held->lock.kill_and_leave(holder);
      }
    }
    if (was_alive) {
      end_erase(held, is_last, block);
    } else {
      leave(held, holder);
    }
    return was_alive;
  }

  // Leaves the lock of an element.
  void leave(node* held, std::uint32_t holder) noexcept {
    bool is_last = false;
    {
      const reading_section section;
      is_last = held->lock.leave(holder);
    }
    if (CORBEL_UNLIKELY(is_last)) dispose(held, 0);
  }

  // Makes buckets for at least as many elements. Throws what the allocator throws.
  void reserve(std::size_t elements) { buckets_.reserve(buckets_for(elements), source_of()); }
  // The same for an empty map that no other thread uses.
  void reserve_empty(std::size_t elements) {
    buckets_.reserve_empty(buckets_for(elements), source_of());
  }
  // The number of elements that all buckets which exist in memory are for.
  std::size_t capacity() const noexcept { return buckets_.capacity() * kPerBucket; }

  // Destroys all elements and frees all memory. No other thread uses the map.
  void clear() noexcept {
    const std::size_t buckets = buckets_.count();
    for (std::size_t i = 0; i < buckets; ++i) {
      buckets_.for_each_in(i, [this](hashed_node* n) {
        node* const freed = static_cast<node*>(n);
        memory_.destroy_value(freed);
        memory_.free_node(freed);
        return false;
      });
    }
    for (stripe& s : stripes_) {
      s.add(0 - s.count());
      s.retired().clear(memory_);
    }
    buckets_.reset(source_of());
  }

  // Exchange the elements and their memory, and what hashes the keys. No other thread uses either
  // map.
  void swap_elements(hash_map_core& other) noexcept {
    buckets_.swap(other.buckets_);
    for (std::size_t i = 0; i < kStripes; ++i) {
      const std::size_t count = stripes_[i].count();
      stripes_[i].add(other.stripes_[i].count() - count);
      other.stripes_[i].add(count - other.stripes_[i].count());
      stripes_[i].retired().swap(other.stripes_[i].retired());
    }
  }
  void set_hash(const Hash& hash) { hash_ = hash; }
  void swap_hash(hash_map_core& other) { std::swap(hash_, other.hash_); }

 private:
  using outcome = element_lock::outcome;
  using stripe = hash_map_stripe;
  using bucket = hash_buckets::bucket;

  static constexpr std::size_t kStripes = 3;
  static constexpr std::size_t kPerBucket = hash_buckets_sizes::kNodes;
  // Up to this number of buckets every insertion looks whether there are enough, above it only
  // some.
  static constexpr std::size_t kFewBuckets = 256;
  static constexpr std::size_t kInsertionsPerLook = hash_buckets_sizes::kBatch;

  // What has memory for buckets.
  struct bucket_source {
    hash_map_core& of;
    bucket* allocate_buckets(std::size_t n) const {
      return of.memory_.template allocate<bucket>(n);
    }
    void free_buckets(bucket* freed, std::size_t n) const noexcept {
      of.memory_.deallocate(freed, n);
    }
    void retire_block(bucket* block) const noexcept { of.retire(retired_node(block)); }
  };
  bucket_source source_of() noexcept { return bucket_source{*this}; }

  static std::size_t buckets_for(std::size_t elements) noexcept {
    return elements / kPerBucket + (elements % kPerBucket != 0 ? 1 : 0);
  }

  // Disposes of a node at the end of a scope, after the reading section in it.
  struct disposal {
    hash_map_core& of;
    node* last;
    ~disposal() {
      if (CORBEL_UNLIKELY(last != nullptr)) of.dispose(last, 0);
    }
  };

  // Leaves an element at the end of a scope.
  struct visit_of {
    disposal& end;
    node* visited;
    std::uint32_t holder;
    void leave() noexcept {
      if (visited->lock.leave(holder)) end.last = visited;
      visited = nullptr;
    }
    ~visit_of() {
      if (visited != nullptr) leave();
    }
  };

  static const typename Hash::key_type& key_of(hashed_node* n) noexcept {
    return static_cast<node*>(n)->value().first;
  }

  // Looks for the element once. Returns kHeld if it found it, and has entered it if kHolder is not
  // kNone; kDead if there is none; kBusy if another thread has it locked; kLast to look again.
  template <std::uint32_t kHolder, typename K>
  outcome look(const K& key, std::uint32_t hash, node*& found) {
    disposal end{*this, nullptr};
    outcome result = outcome::kDead;
    const reading_section section;
    buckets_.look(hash, [&](hashed_node* n) {
      found = static_cast<node*>(n);
      result =
          Hash::kPlain ? visit_plain<kHolder>(key, found, end) : visit<kHolder>(key, found, end);
      return result != outcome::kDead;
    });
    return result;
  }

  template <std::uint32_t kHolder, typename K>
  outcome visit_plain(const K& key, node* n, disposal& end) {
    if (!hash_.equal(key, key_of(n))) return outcome::kDead;
    if (kHolder == kNone) return outcome::kHeld;
    const outcome entered = n->lock.template try_enter<kHolder>();
    if (CORBEL_UNLIKELY(entered == outcome::kLast)) end.last = n;
    return entered;
  }

  template <std::uint32_t kHolder, typename K>
  outcome visit(const K& key, node* n, disposal& end) {
    constexpr std::uint32_t kEntered = kHolder == kNone ? element_lock::kPin : kHolder;
    const outcome entered = n->lock.template try_enter<kEntered>();
    if (CORBEL_UNLIKELY(entered == outcome::kBusy)) {
      // Whether it is the element that the caller waits for: another may be locked for long.
      const outcome pinned = visit<kNone>(key, n, end);
      return pinned == outcome::kHeld ? outcome::kBusy : pinned;
    }
    if (CORBEL_UNLIKELY(entered == outcome::kLast)) end.last = n;
    if (CORBEL_UNLIKELY(entered != outcome::kHeld)) return entered;
    visit_of at_end{end, n, kEntered};
    const bool is_found = hash_.equal(key, key_of(n));
    if (is_found && kHolder != kNone) {
      at_end.visited = nullptr;
      return outcome::kHeld;
    }
    at_end.leave();
    // If it was the last to leave, the answer holds all the same, unless there are more nodes to
    // visit: `end` disposes of one only.
    return is_found ? outcome::kHeld : end.last != nullptr ? outcome::kLast : outcome::kDead;
  }

  // Goes to the node with the key, and returns it; or nullptr.
  template <typename K>
  node* find_in(hash_buckets::locked& in, const K& key, std::uint32_t hash) const {
    return static_cast<node*>(
        in.find(hash, [&](hashed_node* n) { return hash_.equal(key, key_of(n)); }));
  }

  // Links the node of `spare`, and returns kDead, unless there is an element with the key.
  template <std::uint32_t kHolder, typename K>
  outcome link(const K& key, std::uint32_t hash, owner& spare, node*& element) {
    const bucket_source source = source_of();
    hash_buckets::spare_blocks<bucket_source> blocks(source);
    for (;; blocks.add()) {
      hash_buckets::locked at(buckets_, hash);
      element = find_in(at, key, hash);
      if (element != nullptr) {
        return kHolder == kNone ? outcome::kHeld : element->lock.template try_enter<kHolder>();
      }
      element = spare.prepare(hash);
      if (CORBEL_LIKELY(at.link(element, hash, blocks))) break;
    }
    spare.give_away();
    const std::size_t count = this_stripe().add(1);
    const std::size_t buckets = buckets_.count();
    if (buckets <= kFewBuckets || count % kInsertionsPerLook == 0) grow(buckets);
    return outcome::kDead;
  }

  // Makes more buckets if there are too few. They make the map faster only: it goes on without them
  // if there is no memory.
  void grow(std::size_t buckets) noexcept {
    const std::size_t wanted = wanted_buckets(size(), buckets);
    if (wanted <= buckets) return;
    succeeds([&] { buckets_.grow(wanted, source_of()); });
  }

  // How many buckets there should be. A bucket that is not split has up to twice as many elements
  // as one that is, and what does not fit costs another cache line. So the number doubles while the
  // elements become only a third more: from 4.5 for each bucket to 6 for each that there was.
  static std::size_t wanted_buckets(std::size_t elements, std::size_t buckets) noexcept {
    const std::size_t whole = std::size_t{1} << highest_bit(buckets);
    const std::size_t enough = whole / 2 * 9;
    if (elements <= enough) return 0;
    const std::size_t wanted = whole + (elements - enough) / 3 * 2;
    return wanted < 2 * whole ? wanted : 2 * whole;
  }

  // `block`: one that the erasure has unlinked, or nullptr.
  void end_erase(node* erased, bool is_last, bucket* block) noexcept {
    if (CORBEL_UNLIKELY(block != nullptr)) retire(retired_node(block));
    if (CORBEL_LIKELY(is_last)) {
      dispose(erased, 1);
      return;
    }
    this_stripe().add(std::size_t{0} - 1);
    if (!Hash::kPlain) wait_for_readers();
  }

  // Destroys the value of a dead element, and frees the node when no thread reads it any more.
  // Counts `erased` elements less.
  void dispose(node* last, std::size_t erased) noexcept {
    memory_.destroy_value(last);
    if (erased != 0) this_stripe().add(0 - erased);
    retire(retired_node(static_cast<hashed_node*>(last)));
  }

  // Frees a node or block when no thread reads it any more.
  void retire(retired_node retired) noexcept {
    using nodes = retired_nodes<retired_node>;
    stripe& s = this_stripe();
    nodes::batch* spare = nullptr;
    nodes::batch* old = nullptr;
    s.lock();
    while (CORBEL_UNLIKELY(!s.retired().add(retired, spare, old))) {
      const std::size_t capacity = s.retired().next_capacity();
      s.unlock();  // while the program's allocator is called
      spare = nodes::make_batch(capacity, memory_);
      if (spare == nullptr) {
        wait_for_readers();
        memory_.free_node(retired);
        return;
      }
      s.lock();
    }
    s.unlock();
    if (CORBEL_UNLIKELY(spare != nullptr)) nodes::free_batch(spare, memory_);
    if (CORBEL_LIKELY(old == nullptr)) return;
    nodes::batch* const kept = nodes::reclaim(old, memory_);
    if (kept == nullptr) return;
    s.lock();
    s.retired().give_back(kept);
    s.unlock();
  }

  stripe& this_stripe() noexcept { return stripes_[thread_number() % kStripes]; }

  Hash hash_;
  memory memory_;
  hash_buckets buckets_;
  stripe stripes_[kStripes];
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_MAP_CORE_HPP
