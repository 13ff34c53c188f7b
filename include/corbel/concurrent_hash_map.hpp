// SPDX-License-Identifier: Apache-2.0
// A hash map that threads read and change at the same time, with a lock for each element. C++11 and
// later. Follows the oneTBB specification 1.4 (concurrent_hash_map).
#ifndef CORBEL_CONCURRENT_HASH_MAP_HPP
#define CORBEL_CONCURRENT_HASH_MAP_HPP

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <corbel/detail/deduction.hpp>
#include <corbel/detail/hash_map_access.hpp>
#include <corbel/detail/hash_map_core.hpp>
#include <corbel/detail/hash_map_iterator.hpp>
#include <corbel/detail/hash_map_traits.hpp>
#include <corbel/tbb_allocator.hpp>
#include <corbel/tbb_hash_compare.hpp>

namespace corbel {

// HashCompare has size_t hash(key) and bool equal(key, key), const or static, which several threads
// may call at the same time. If it has a type is_transparent, the functions below that are
// templates of a type K take keys of other types that it hashes and compares with Key.
//
// Safe at the same time, from any threads: find, count, insert, emplace, erase, rehash, size,
// empty, bucket_count, max_size, get_allocator. All others need the map for themselves. Functions
// of the first kind wait for other threads only as long as these hold an accessor to the same
// element, or are in the middle of an operation on the same bucket. An erasure may also wait until
// no other thread compares keys; so equal must neither use a map from which threads erase nor wait
// for a thread.
//
// A function that gets an accessor releases it first. A thread that holds one accessor and waits
// for another can be in a circle of threads that wait for each other, as with any locks.
//
// Functions throw what HashCompare, the allocator and the constructors of Key and T throw. Then a
// function of the first kind has not changed the map; of a range, the elements before are inserted.
// No memory for more buckets is no error, except in rehash and in constructors.
//
// Mutex, by default spin_rw_mutex, is the type of lock that oneTBB's preview takes. Elements have a
// lock of their own here, whatever it is.
template <typename Key, typename T, typename HashCompare = tbb_hash_compare<Key>,
          typename Allocator = tbb_allocator<std::pair<const Key, T>>, typename Mutex>
class concurrent_hash_map {
  using hash_traits = detail::hash_map_traits<Key, HashCompare>;
  using core = detail::hash_map_core<std::pair<const Key, T>, hash_traits, Allocator>;
  using node = typename core::node;
  using owner = typename core::owner;
  using traits = std::allocator_traits<Allocator>;
  // Void, if K is a type of keys that HashCompare knows beside Key.
  template <typename K>
  using if_other_key = typename detail::if_transparent<HashCompare, K>::type;

 public:
  using key_type = Key;
  using mapped_type = T;
  using value_type = std::pair<const Key, T>;
  using hash_compare_type = HashCompare;
  using allocator_type = Allocator;
  using mutex_type = Mutex;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = value_type&;
  using const_reference = const value_type&;
  using pointer = typename traits::pointer;
  using const_pointer = typename traits::const_pointer;
  using iterator = detail::hash_map_iterator<value_type>;
  using const_iterator = detail::hash_map_iterator<const value_type>;
  using range_type = detail::hash_map_range<iterator>;
  using const_range_type = detail::hash_map_range<const_iterator>;

  // Points to an element and keeps others from changing or getting it for writing. One thread at a
  // time may use it. See detail::hash_map_const_access.
  using const_accessor = detail::hash_map_const_access<core>;
  // Points to an element and keeps others from getting it at all. See detail::hash_map_access.
  using accessor = detail::hash_map_access<core>;

  // ---- construction

  // Make an empty map.
  concurrent_hash_map() : concurrent_hash_map(HashCompare()) {}
  explicit concurrent_hash_map(const Allocator& allocator)
      : concurrent_hash_map(HashCompare(), allocator) {}
  explicit concurrent_hash_map(const HashCompare& compare, const Allocator& allocator = Allocator())
      : core_(hash_traits(compare), allocator) {}
  // Make an empty map whose bucket_count() is n or more, or 2^30.
  concurrent_hash_map(size_type n, const Allocator& allocator = Allocator())
      : concurrent_hash_map(n, HashCompare(), allocator) {}
  concurrent_hash_map(size_type n, const HashCompare& compare,
                      const Allocator& allocator = Allocator())
      : concurrent_hash_map(compare, allocator) {
    core_.reserve_empty(n);
  }
  // Make a map of the elements of a range; of several with equal keys, the first.
  template <typename Iterator, typename = detail::if_iterator<Iterator>>
  concurrent_hash_map(Iterator first, Iterator last, const Allocator& allocator = Allocator())
      : concurrent_hash_map(first, last, HashCompare(), allocator) {}
  template <typename Iterator, typename = detail::if_iterator<Iterator>>
  concurrent_hash_map(Iterator first, Iterator last, const HashCompare& compare,
                      const Allocator& allocator = Allocator())
      : concurrent_hash_map(compare, allocator) {
    insert(first, last);
  }
  concurrent_hash_map(std::initializer_list<value_type> elements,
                      const Allocator& allocator = Allocator())
      : concurrent_hash_map(elements.begin(), elements.end(), HashCompare(), allocator) {}
  concurrent_hash_map(std::initializer_list<value_type> elements, const HashCompare& compare,
                      const Allocator& allocator = Allocator())
      : concurrent_hash_map(elements.begin(), elements.end(), compare, allocator) {}

  // Copy the elements of `other`, which other threads may read meanwhile.
  concurrent_hash_map(const concurrent_hash_map& other)
      : concurrent_hash_map(other,
                            traits::select_on_container_copy_construction(other.get_allocator())) {}
  concurrent_hash_map(const concurrent_hash_map& other, const Allocator& allocator)
      : concurrent_hash_map(other.core_.hash().compare, allocator) {
    copy_elements(other);
  }
  // Take the elements of `other`, which is empty then. With an allocator that cannot free its
  // memory the elements are moved one by one.
  concurrent_hash_map(concurrent_hash_map&& other)
      : concurrent_hash_map(other.core_.hash().compare, other.get_allocator()) {
    core_.swap_elements(other.core_);
  }
  concurrent_hash_map(concurrent_hash_map&& other, const Allocator& allocator)
      : concurrent_hash_map(other.core_.hash().compare, allocator) {
    take_elements(other, detail::is_always_equal<Allocator>());
  }
  // Destroys the elements.
  ~concurrent_hash_map() = default;

  // Replace all elements. If one throws, those copied or moved before are in the map.
  concurrent_hash_map& operator=(const concurrent_hash_map& other) {
    if (this == &other) return *this;
    clear();
    core_.source().assign(other.core_.source(),
                          typename traits::propagate_on_container_copy_assignment());
    core_.set_hash(other.core_.hash());
    copy_elements(other);
    return *this;
  }
  concurrent_hash_map& operator=(concurrent_hash_map&& other) noexcept(
      detail::is_always_equal<Allocator>::value ||
      traits::propagate_on_container_move_assignment::value) {
    if (this == &other) return *this;
    using propagates = typename traits::propagate_on_container_move_assignment;
    clear();
    core_.source().assign(std::move(other.core_.source()), propagates());
    core_.set_hash(other.core_.hash());
    take_elements(other,
                  std::integral_constant<bool, propagates::value ||
                                                   detail::is_always_equal<Allocator>::value>());
    return *this;
  }
  concurrent_hash_map& operator=(std::initializer_list<value_type> elements) {
    clear();
    insert(elements);
    return *this;
  }

  // Exchanges the elements. Unless the allocators are exchanged, too
  // (propagate_on_container_swap), they must be equal.
  void swap(concurrent_hash_map& other) noexcept {
    core_.source().swap(other.core_.source(), typename traits::propagate_on_container_swap());
    core_.swap_hash(other.core_);
    core_.swap_elements(other.core_);
  }

  // Returns a copy of the allocator.
  allocator_type get_allocator() const { return core_.source().allocator(); }

  // ---- size

  // The number of elements; while others insert or erase, about that.
  size_type size() const noexcept { return core_.size(); }
  // Whether there are none; while others insert and erase, true of a few, too.
  bool empty() const noexcept { return size() == 0; }
  // The greatest number of elements that the allocator could have memory for.
  size_type max_size() const noexcept { return core_.source().max_nodes(); }
  // The number of elements that there are buckets for: one for every four. Up to it the map grows
  // before it requests memory for more.
  size_type bucket_count() const noexcept { return core_.capacity(); }

  // Makes bucket_count() n or more, if it is less, or as great as it can be (2^30): insertions up
  // to this number of elements need not.
  void rehash(size_type n = 0) { core_.reserve(n); }

  // Destroys all elements and frees the buckets.
  void clear() noexcept { core_.clear(); }

  // ---- finding

  // Waits for the element with the key and points `result` to it. Returns false if there is none.
  bool find(const_accessor& result, const Key& key) const { return result.find(core_, key); }
  bool find(accessor& result, const Key& key) { return result.find(core_, key); }
  template <typename K, typename = if_other_key<K>>
  bool find(const_accessor& result, const K& key) const {
    return result.find(core_, key);
  }
  template <typename K, typename = if_other_key<K>>
  bool find(accessor& result, const K& key) {
    return result.find(core_, key);
  }

  // Returns 1 if there is an element with the key, 0 if not. Does not wait for accessors.
  size_type count(const Key& key) const { return has(key); }
  template <typename K, typename = if_other_key<K>>
  size_type count(const K& key) const {
    return has(key);
  }

  // ---- inserting

  // Unless there is an element with the key, insert one: with the key and T(), with a copy of the
  // value, or with the value moved from. Return whether they did. Point `result` to the element in
  // both cases; without it they do not wait for accessors. A value that is not inserted because
  // another thread was faster may have been moved from.
  bool insert(const_accessor& result, const Key& key) { return insert_key(result, key); }
  bool insert(accessor& result, const Key& key) { return insert_key(result, key); }
  template <typename K, typename = if_other_key<K>,
            typename = typename std::enable_if<std::is_constructible<Key, const K&>::value>::type>
  bool insert(const_accessor& result, const K& key) {
    return insert_key(result, key);
  }
  template <typename K, typename = if_other_key<K>,
            typename = typename std::enable_if<std::is_constructible<Key, const K&>::value>::type>
  bool insert(accessor& result, const K& key) {
    return insert_key(result, key);
  }
  bool insert(const_accessor& result, const value_type& value) {
    return insert_value(result, value);
  }
  bool insert(accessor& result, const value_type& value) { return insert_value(result, value); }
  bool insert(const_accessor& result, value_type&& value) {
    return insert_value(result, std::move(value));
  }
  bool insert(accessor& result, value_type&& value) {
    return insert_value(result, std::move(value));
  }
  bool insert(const value_type& value) { return insert_value(value); }
  bool insert(value_type&& value) { return insert_value(std::move(value)); }
  // Inserts the elements of a range one by one.
  template <typename Iterator, typename = detail::if_iterator<Iterator>>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(*first);
  }
  void insert(std::initializer_list<value_type> elements) {
    insert(elements.begin(), elements.end());
  }

  // The same for an element that is constructed from the arguments first.
  template <typename... Arguments>
  bool emplace(const_accessor& result, Arguments&&... arguments) {
    return emplace_value(result, std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  bool emplace(accessor& result, Arguments&&... arguments) {
    return emplace_value(result, std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  bool emplace(Arguments&&... arguments) {
    owner made(core_.source(), core::kNone);
    node* in = nullptr;
    const Key& key = made.make(std::forward<Arguments>(arguments)...).value().first;
    return core_.template insert<core::kNone>(key, made, in, [] {});
  }

  // ---- erasing

  // Erases the element with the key. Returns false if there is none. An element that accessors
  // point to is no longer in the map, and destroyed when they are released.
  bool erase(const Key& key) { return core_.erase(key); }
  template <typename K, typename = if_other_key<K>>
  bool erase(const K& key) {
    return core_.erase(key);
  }
  // Erase the element that `item` points to, and release it. Return false if it was erased already:
  // of several threads that erase an element, one gets true.
  bool erase(const_accessor& item) { return item.erase(); }
  bool erase(accessor& item) { return item.erase(); }

  // ---- iteration: no other thread may insert or erase

  // The first element, and the place after the last.
  iterator begin() { return iterator(core_.buckets(), 0, nullptr); }
  iterator end() { return iterator(core_.buckets(), core_.buckets().count(), nullptr); }
  const_iterator begin() const { return const_iterator(core_.buckets(), 0, nullptr); }
  const_iterator end() const {
    return const_iterator(core_.buckets(), core_.buckets().count(), nullptr);
  }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }

  // A range of all elements for parallel loops, divisible down to `grainsize` of bucket_count().
  range_type range(size_type grainsize = 1) { return range_type(*this, grainsize); }
  const_range_type range(size_type grainsize = 1) const {
    return const_range_type(*this, grainsize);
  }

  // The range of the element with the key, empty if there is none. Nothing is locked.
  std::pair<iterator, iterator> equal_range(const Key& key) { return find_range<iterator>(key); }
  std::pair<const_iterator, const_iterator> equal_range(const Key& key) const {
    return find_range<const_iterator>(key);
  }
  template <typename K, typename = if_other_key<K>>
  std::pair<iterator, iterator> equal_range(const K& key) {
    return find_range<iterator>(key);
  }
  template <typename K, typename = if_other_key<K>>
  std::pair<const_iterator, const_iterator> equal_range(const K& key) const {
    return find_range<const_iterator>(key);
  }

  // Whether the maps have the same keys with equal values.
  friend bool operator==(const concurrent_hash_map& a, const concurrent_hash_map& b) {
    return a.is_equal(b);
  }
  friend bool operator!=(const concurrent_hash_map& a, const concurrent_hash_map& b) {
    return !a.is_equal(b);
  }
  friend void swap(concurrent_hash_map& a, concurrent_hash_map& b) noexcept { a.swap(b); }

 private:
  template <typename K>
  size_type has(const K& key) const {
    return core_.template find<core::kNone>(key) != nullptr ? 1 : 0;
  }

  template <typename Access, typename K>
  bool insert_key(Access& result, const K& key) {
    return result.insert(core_, key, std::piecewise_construct, std::forward_as_tuple(key),
                         std::tuple<>());
  }
  template <typename Access, typename Value>
  bool insert_value(Access& result, Value&& value) {
    return result.insert(core_, value.first, std::forward<Value>(value));
  }
  template <typename Value>
  bool insert_value(Value&& value) {
    owner made(core_.source(), core::kNone);
    node* in = nullptr;
    return core_.template insert<core::kNone>(value.first, made, in,
                                              [&] { made.make(std::forward<Value>(value)); });
  }
  template <typename Access, typename... Arguments>
  bool emplace_value(Access& result, Arguments&&... arguments) {
    return result.emplace(core_, std::forward<Arguments>(arguments)...);
  }

  void copy_elements(const concurrent_hash_map& other) {
    core_.reserve_empty(other.size());
    for (const value_type& value : other) insert(value);
  }
  // Takes what the allocator can free, or else moves each element.
  void take_elements(concurrent_hash_map& other, std::true_type) noexcept {
    core_.swap_elements(other.core_);
  }
  void take_elements(concurrent_hash_map& other, std::false_type) {
    if (core_.source().allocator() == other.core_.source().allocator()) {
      core_.swap_elements(other.core_);
      return;
    }
    core_.reserve_empty(other.size());
    for (value_type& value : other) insert(std::move(value));
    other.clear();
  }

  template <typename Iterator, typename K>
  std::pair<Iterator, Iterator> find_range(const K& key) const {
    std::size_t bucket = 0;
    node* const found = core_.find_only(key, bucket);
    Iterator first(core_.buckets(), found != nullptr ? bucket : core_.buckets().count(), found);
    Iterator last = first;
    if (found != nullptr) ++last;
    return {first, last};
  }

  bool is_equal(const concurrent_hash_map& other) const {
    if (size() != other.size()) return false;
    for (const value_type& value : *this) {
      std::size_t ignored = 0;
      node* const found = other.core_.find_only(value.first, ignored);
      if (found == nullptr || !(found->value().second == value.second)) return false;
    }
    return true;
  }

  mutable core core_;  // find() const changes locks of elements
};

}  // namespace corbel

#include <corbel/detail/hash_map_guides.hpp>

#endif  // CORBEL_CONCURRENT_HASH_MAP_HPP
