// SPDX-License-Identifier: Apache-2.0
// The table of the concurrent unordered containers: nodes, memory, growth. Not for programs to
// include.
#ifndef CORBEL_DETAIL_UNORDERED_TABLE_HPP
#define CORBEL_DETAIL_UNORDERED_TABLE_HPP

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/highest_bit.hpp>
#include <corbel/detail/split_list.hpp>
#include <corbel/detail/striped_count.hpp>
#include <corbel/detail/succeeds.hpp>
#include <corbel/detail/unordered_node.hpp>

namespace corbel {
namespace detail {

// Whether two ranges have the same elements, each as often as the other range.
template <typename Iterator>
bool are_permutations(Iterator a, Iterator a_end, Iterator b, Iterator b_end) {
  const auto occurrences = [](Iterator from, Iterator to, Iterator of) {
    std::size_t n = 0;
    for (; from != to; ++from) n += *from == *of ? 1 : 0;
    return n;
  };
  std::size_t length = 0, other_length = 0;
  for (Iterator it = a; it != a_end; ++it) ++length;
  for (Iterator it = b; it != b_end; ++it) ++other_length;
  if (length != other_length) return false;
  for (Iterator it = a; it != a_end; ++it) {
    if (occurrences(a, a_end, it) != occurrences(b, b_end, it)) return false;
  }
  return true;
}

// The base of unordered_base, and only of that.
template <typename Key, typename Value, typename Hash, typename KeyEqual, typename Allocator>
class unordered_table {
  template <typename, typename, typename, typename, typename>
  friend class unordered_table;
  using key_equal = typename key_comparison<Hash, KeyEqual>::equal;

 public:
  using node = unordered_node<Key, Value>;

  // Return copies of what the constructor was given.
  Allocator get_allocator() const noexcept { return allocator_; }
  Hash hash_function() const { return hash_; }
  key_equal key_eq() const { return equal_; }

  // Returns the number of elements. While other threads insert, an element may be found before it
  // counts.
  std::size_t size() const noexcept { return count_.total(); }
  bool empty() const noexcept { return list_.first() == nullptr; }
  std::size_t max_size() const noexcept {
    return std::allocator_traits<Allocator>::max_size(allocator_);
  }

  // Return the number of buckets, a power of two, and the greatest that is possible.
  std::size_t unsafe_bucket_count() const noexcept { return list_.mask() + 1; }
  std::size_t unsafe_max_bucket_count() const noexcept { return std::size_t{1} << list::kMaxLog; }

  // The average number of elements in a bucket; and the one above which the number of buckets is
  // doubled, 2 at first.
  float load_factor() const noexcept {
    return static_cast<float>(size()) / static_cast<float>(unsafe_bucket_count());
  }
  float max_load_factor() const noexcept { return max_load_factor_; }
  // Throws std::out_of_range if the factor is negative or no number. Exclusive access.
  void max_load_factor(float factor) {
    if (!(factor >= 0)) raise(std::out_of_range("Invalid hash load factor"));
    max_load_factor_ = factor;
    set_limit();
  }

  // Make sure that there are at least that many buckets; buckets for that many elements. The number
  // never falls. Throw what the allocator throws; some of the buckets may be there then. Exclusive
  // access.
  void rehash(std::size_t buckets) {
    const double wanted = static_cast<double>(size()) / least_factor();
    if (wanted > static_cast<double>(buckets)) buckets = ceiling(wanted);
    add_buckets(buckets);
  }
  void reserve(std::size_t elements) {
    rehash(ceiling(static_cast<double>(elements) / least_factor()));
  }

  // ---- for ranges ------------------------------------------------------------------------------
  // Buckets of 2^log, by their position in the order of the list.

  node* element_at(std::size_t position, int log) const {
    return bucket_begin(reversed(position, log));
  }
  std::size_t position_of(const node& of, int log) const {
    return reversed(hash_of(of) & ((std::size_t{1} << log) - 1), log);
  }

 protected:
  using list = basic_split_list<node, std::atomic>;
  using link = typename list::link;
  using place = typename list::place;
  static constexpr std::size_t kFirstBuckets = std::size_t{1} << list::kFirstLog;

  // Looks for an element with a key, and tells the list the hash values of others.
  template <typename K>
  struct key_probe {
    std::size_t hash_of(const node& of) const { return table.hash_of(of); }
    bool matches(const node& candidate) const {
      return candidate.stored_hash().may_equal(hash) && table.equal()(key, candidate.key());
    }
    const unordered_table& table;
    const K& key;
    std::size_t hash;
  };

  // Matches no element.
  struct hash_probe {
    std::size_t hash_of(const node& of) const { return table.hash_of(of); }
    bool matches(const node&) const { return false; }
    const unordered_table& table;
    std::size_t hash;
  };

  // Owns a node until `owned` is set to nullptr.
  struct node_owner {
    ~node_owner() {
      if (owned != nullptr) node::destroy(table.allocator(), owned);
    }
    unordered_table& table;
    node* owned;
  };

  unordered_table(std::size_t buckets, const Hash& hash, const key_equal& equal,
                  const Allocator& allocator)
      : hash_(hash), equal_(equal), allocator_(allocator) {
    set_limit();
    memory_guard at_throw{this};
    if (buckets > kFirstBuckets) add_buckets(buckets);
    at_throw.table = nullptr;
  }
  // Copies all but the elements.
  unordered_table(const unordered_table& other, const Allocator& allocator)
      : max_load_factor_(other.max_load_factor_),
        hash_(other.hash_),
        equal_(other.equal_),
        allocator_(allocator) {
    set_limit();
  }
  ~unordered_table() {
    destroy_elements();
    free_memory();
  }
  unordered_table(const unordered_table&) = delete;
  unordered_table& operator=(const unordered_table&) = delete;

  const key_equal& equal() const noexcept { return equal_; }
  Allocator& allocator() noexcept { return allocator_; }

  template <typename K>
  std::size_t spread_hash(const K& key) const {
    return spread(static_cast<std::size_t>(hash_(key)));
  }
  std::size_t hash_of(const node& of) const { return of.stored_hash().get(hash_, of.key()); }

  template <typename K>
  node* find_node(const K& key) const {
    return list_.find(key_probe<K>{*this, key, spread_hash(key)});
  }

  // Inserts an element constructed from the arguments, whose key is `key`. Unless kMulti, does so
  // only if no key is equal. Returns the element, and whether it is new.
  template <bool kMulti, typename K, typename... Args>
  std::pair<node*, bool> insert_key(const K& key, Args&&... args) {
    const key_probe<K> wanted{*this, key, spread_hash(key)};
    make_first_buckets();
    place at;
    node* const found = list_.find_place(wanted, at);
    if (found != nullptr && !kMulti) return {found, false};
    node_owner made{*this, node::make(allocator(), std::forward<Args>(args)...)};
    made.owned->stored_hash().set(wanted.hash);
    // the arguments may have been moved from
    const key_probe<Key> again{*this, made.owned->key(), wanted.hash};
    const std::pair<node*, bool> result = insert_at<kMulti>(made.owned, again, found, at);
    if (result.second) made.owned = nullptr;
    return result;
  }

  // Inserts the node, or not, as insert_key does. The caller keeps what is not inserted.
  template <bool kMulti>
  std::pair<node*, bool> insert_node(node* inserted) {
    const key_probe<Key> wanted{*this, inserted->key(), spread_hash(inserted->key())};
    make_first_buckets();
    inserted->stored_hash().set(wanted.hash);
    place at;
    node* const found = list_.find_place(wanted, at);
    return insert_at<kMulti>(inserted, wanted, found, at);
  }

  // Transfers nodes. The loop holds the link before the next node of the source.
  template <bool kMulti, typename OtherHash, typename OtherEqual>
  void merge_from(unordered_table<Key, Value, OtherHash, OtherEqual, Allocator>& source) {
    if (static_cast<const void*>(this) == &source || !source.list_.has_slots()) return;
    link* before = source.list_.segment(0);
    while (before != nullptr) {
      bool is_node = false;
      link* const next = list::link_after(before, is_node);
      if (!is_node || (!kMulti && find_node(static_cast<node*>(next)->key()) != nullptr)) {
        before = next;
        continue;
      }
      returned_node moving(before, list::remove_after(before));
      if (insert_node<kMulti>(moving.moved).second) {
        moving.moved = nullptr;
        source.count_.lower(1);
      } else {
        before = moving.moved;
      }
    }
  }

  node* remove_node(const node* removed) {
    const hash_probe of{*this, hash_of(*removed)};
    node* const taken = list::remove_after(list_.predecessor(removed, of));
    count_.lower(1);
    return taken;
  }
  void erase_node(const node* erased) { node::destroy(allocator(), remove_node(erased)); }

  void clear_elements() noexcept {
    destroy_elements();
    list_.clear();
    count_.lower(count_.total());
  }

  // ---- buckets

  template <typename K>
  std::size_t bucket_of(const K& key) const {
    return spread_hash(key) & list_.mask();
  }
  // Returns the first element in the bucket or, in the order of the list, after it.
  node* bucket_begin(std::size_t bucket) const {
    return list_.has_slots() ? list_.first_from(hash_probe{*this, bucket}) : nullptr;
  }
  node* bucket_end(std::size_t bucket) const {
    const int log = highest_bit(unsafe_bucket_count());
    const std::size_t position = reversed(bucket, log) + 1;
    return position == unsafe_bucket_count() ? nullptr : element_at(position, log);
  }

  // ---- copies, moves, swaps: exclusive access

  // Adds copies of the elements of `other` to this empty table.
  void copy_elements(const unordered_table& other) {
    fill(other, [this](node& from) { return node::make(allocator(), from.value()); });
  }
  // Takes the elements of `other`: moves each one if its memory must stay there.
  void take_elements(unordered_table& other) {
    if (allocators_are_equal<Allocator>::value || allocator_ == other.allocator_) {
      swap_contents(other);
      return;
    }
    fill(other, [this](node& from) { return node::make(allocator(), std::move(from.value())); });
    other.clear_elements();
  }

  // All but functions and allocator.
  void swap_contents(unordered_table& other) noexcept {
    list_.swap(other.list_);
    count_.swap(other.count_);
    std::swap(stripes_, other.stripes_);
    std::swap(max_load_factor_, other.max_load_factor_);
    set_limit();
    other.set_limit();
  }
  // The allocators only if they propagate; otherwise they are equal.
  void swap_functions(unordered_table& other, std::true_type) {
    using std::swap;
    swap(allocator_, other.allocator_);
    swap_functions(other, std::false_type());
  }
  void swap_functions(unordered_table& other, std::false_type) {
    using std::swap;
    swap(hash_, other.hash_);
    swap(equal_, other.equal_);
  }

  list list_;

 private:
  static constexpr std::size_t kStripesFrom = 1024;  // the least number of buckets with stripes

  // Frees the memory if the constructor throws: the destructor does not run then.
  struct memory_guard {
    ~memory_guard() {
      if (table != nullptr) table->free_memory();
    }
    unordered_table* table;
  };

  // Puts a node back that merge_from could not insert.
  struct returned_node {
    returned_node(link* predecessor, node* taken)
        : before(predecessor), moved(taken), hash(taken->stored_hash()) {}
    ~returned_node() {
      if (moved == nullptr) return;
      moved->stored_hash() = hash;
      list::restore_after(before, moved);
    }
    link* before;
    node* moved;
    typename node::hash_store hash;
  };

  // Adds the node at the place or, if that has changed, at the one further on. `found` is the first
  // element with an equal key: a new one follows it if it may.
  template <bool kMulti>
  std::pair<node*, bool> insert_at(node* inserted, const key_probe<Key>& wanted, node* found,
                                   place& at) {
    for (;; found = list_.walk(wanted, at)) {
      if (found != nullptr) {
        if (!kMulti) return {found, false};
        at.before = found;
        list::reload(at);
      }
      if (list_.add(inserted, at)) break;
    }
    // relaxed: a number
    const std::size_t limit = limit_.load(std::memory_order_relaxed);
    if (CORBEL_UNLIKELY(count_.raise(limit, (list_.mask() >> 7) + 1))) grow();
    return {inserted, true};
  }

  // ---- growth

  link* new_segment(int k) {
    return list::make_segment(allocate_with<link>(allocator_, list::segment_size(k)), k);
  }

  void make_first_buckets() {
    if (CORBEL_LIKELY(list_.has_slots())) return;
    link* const slots = new_segment(0);
    if (!list_.publish_first(slots)) deallocate_with(allocator_, slots, list::segment_size(0));
  }

  // Doubles the number of buckets if there are too many elements. One thread does it, while others
  // go on with the buckets that there are.
  CORBEL_NOINLINE void grow() noexcept {
    // (1) acquire: sees what (2) published
    if (grows_.exchange(true, std::memory_order_acquire)) return;
    const std::size_t count = size();
    if (count > limit_.load(std::memory_order_relaxed)) {  // relaxed: written by this thread or (2)
      if (!try_to_grow()) {
        // Tries again when there are some more elements. relaxed: a number
        limit_.store(count + count / 8, std::memory_order_relaxed);
      }
    }
    grows_.store(false, std::memory_order_release);  // (2) release: publishes the segment to (1)
  }

  bool try_to_grow() noexcept {
    if (list_.segments() == list::kSegments) return false;
    return succeeds([this] {
      list_.publish_next(new_segment(list_.segments()));
      set_limit();
      if (unsafe_bucket_count() >= kStripesFrom && stripes_ == nullptr) {
        stripes_ = allocate_with<link>(allocator_, kStripesLength);
        count_.spread_out(stripes_);
      }
    });
  }

  void add_buckets(std::size_t buckets) {
    if (buckets > unsafe_max_bucket_count()) raise(std::length_error("too many buckets"));
    make_first_buckets();
    while (unsafe_bucket_count() < buckets) list_.publish_next(new_segment(list_.segments()));
    set_limit();
  }

  double least_factor() const noexcept {
    constexpr double kLeast = 1.0 / 16;  // a smaller one would only make empty buckets
    return max_load_factor_ > kLeast ? max_load_factor_ : kLeast;
  }
  static std::size_t ceiling(double number) noexcept {
    constexpr std::size_t kMost = ~std::size_t{0} >> 1;
    if (number >= static_cast<double>(kMost)) return kMost;
    const std::size_t below = static_cast<std::size_t>(number);
    return below + (static_cast<double>(below) < number ? 1 : 0);
  }
  void set_limit() noexcept {
    const std::size_t limit = ceiling(static_cast<double>(unsafe_bucket_count()) * least_factor());
    limit_.store(limit, std::memory_order_relaxed);  // relaxed: a number
  }

  // ---- exclusive access

  // Adds what make(node) makes of each node of `other`, whose hash function is the same, to this
  // empty table.
  template <typename Make>
  void fill(const unordered_table& other, const Make& make) {
    node* next = other.list_.first();
    if (next == nullptr) return;
    add_buckets(other.unsafe_bucket_count());
    link* last = list_.segment(0);
    std::size_t count = 0;
    for (; next != nullptr; next = list::element_after(next), ++count) {
      const std::size_t hash = other.hash_of(*next);
      node* const made = make(*next);
      made->stored_hash().set(hash);
      last = list_.append(made, last, hash);
    }
    count_.assign(count);
  }

  void destroy_elements() noexcept {
    for (node* next = list_.first(); next != nullptr;) {
      node* const destroyed = next;
      next = list::element_after(next);
      node::destroy(allocator_, destroyed);
    }
  }

  void free_memory() noexcept {
    if (stripes_ != nullptr) deallocate_with(allocator_, stripes_, kStripesLength);
    if (!list_.has_slots()) return;
    for (int k = list_.segments() - 1; k >= 0; --k) {
      deallocate_with(allocator_, list_.segment(k), list::segment_size(k));
    }
  }

  static constexpr std::size_t kStripesLength =
      (striped_count::kMemory + sizeof(link) - 1) / sizeof(link);

  std::atomic<std::size_t> limit_{0};  // the number of elements above which the table grows
  float max_load_factor_ = 2;
  std::atomic<bool> grows_{false};
  link* stripes_ = nullptr;  // memory of count_; written by the thread that has set grows_
  striped_count count_;
  Hash hash_;
  key_equal equal_;
  Allocator allocator_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_UNORDERED_TABLE_HPP
