// SPDX-License-Identifier: Apache-2.0
// What the concurrent unordered containers have in common. Not for programs to include.
#ifndef CORBEL_DETAIL_UNORDERED_BASE_HPP
#define CORBEL_DETAIL_UNORDERED_BASE_HPP

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/deduction.hpp>
#include <corbel/detail/node_handle.hpp>
#include <corbel/detail/unordered_range.hpp>
#include <corbel/detail/unordered_table.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// The members of the four containers (see concurrent_unordered_map.hpp), except operator[] and at.
// Value is Key, or std::pair<const Key, Mapped>; kMulti: several elements may have equal keys.
//
// Any thread may call these at the same time: insert, emplace, emplace_hint, find, contains, count,
// equal_range, merge, size, empty, max_size, begin, end, range, the observers, load_factor, the
// functions that only read buckets, and those of iterators. All others, unsafe or not, need
// exclusive access to the container, and so do the destructor and assignments.
//
// Iterators, pointers and references to elements stay valid until the element is erased. The hash
// function and the comparison may be called by several threads at the same time, on one object; so
// may the allocator's functions.
//
// Exceptions. If inserting one element throws (the allocator, a constructor, the hash function or
// the comparison), the container is unchanged. Growth that finds no memory is put off: chains then
// get longer. A range or list is inserted up to the element for which it throws.
template <typename Key, typename Value, typename Hash, typename KeyEqual, typename Allocator,
          bool kMulti>
class unordered_base : public unordered_table<Key, Value, Hash, KeyEqual, Allocator> {
  using table = unordered_table<Key, Value, Hash, KeyEqual, Allocator>;
  using comparison = key_comparison<Hash, KeyEqual>;

 protected:
  using table::kFirstBuckets;
  using typename table::list;
  using typename table::node;
  template <typename K>
  using probe = typename table::template key_probe<K>;

 public:
  using key_type = Key;
  using value_type = Value;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using hasher = Hash;
  using key_equal = typename comparison::equal;
  using allocator_type = Allocator;
  using reference = Value&;
  using const_reference = const Value&;
  using pointer = typename std::allocator_traits<Allocator>::pointer;
  using const_pointer = typename std::allocator_traits<Allocator>::const_pointer;
  using iterator = unordered_iterator<node, Value>;
  using const_iterator = unordered_iterator<node, const Value>;
  using local_iterator = iterator;
  using const_local_iterator = const_iterator;
  using node_type = node_handle<Key, Value, node, Allocator>;
  using range_type = unordered_range<unordered_base, iterator>;
  using const_range_type = unordered_range<unordered_base, const_iterator>;

 private:
  // Accept a key of another type if the hash function and the comparison do.
  template <typename K>
  using if_other_key =
      typename std::enable_if<comparison::kIsTransparent && !std::is_same<K, Key>::value>::type;
  template <typename K>
  using if_other_key_to_erase =
      typename std::enable_if<comparison::kIsTransparent &&
                              !std::is_same<typename std::decay<K>::type, Key>::value &&
                              !std::is_convertible<K, iterator>::value &&
                              !std::is_convertible<K, const_iterator>::value>::type;

 public:
  // ---- construction ----------------------------------------------------------------------------
  // All allocate only what more than 8 buckets, or elements, need. They throw what the allocator,
  // the hash function, the comparison or a constructor throws.

  unordered_base() : table(kFirstBuckets, Hash(), key_equal(), Allocator()) {}
  // `buckets` is the least number of buckets; a power of two, and at least 8, is used.
  explicit unordered_base(size_type buckets, const hasher& hash = hasher(),
                          const key_equal& equal = key_equal(),
                          const allocator_type& allocator = allocator_type())
      : table(buckets, hash, equal, allocator) {}
  unordered_base(size_type buckets, const allocator_type& allocator)
      : table(buckets, hasher(), key_equal(), allocator) {}
  unordered_base(size_type buckets, const hasher& hash, const allocator_type& allocator)
      : table(buckets, hash, key_equal(), allocator) {}
  explicit unordered_base(const allocator_type& allocator)
      : table(kFirstBuckets, hasher(), key_equal(), allocator) {}

  // Insert the elements of the range.
  template <typename Iterator, typename = if_iterator<Iterator>>
  unordered_base(Iterator first, Iterator last, size_type buckets = kFirstBuckets,
                 const hasher& hash = hasher(), const key_equal& equal = key_equal(),
                 const allocator_type& allocator = allocator_type())
      : table(buckets, hash, equal, allocator) {
    insert(first, last);
  }
  template <typename Iterator, typename = if_iterator<Iterator>>
  unordered_base(Iterator first, Iterator last, size_type buckets, const allocator_type& allocator)
      : unordered_base(first, last, buckets, hasher(), key_equal(), allocator) {}
  template <typename Iterator, typename = if_iterator<Iterator>>
  unordered_base(Iterator first, Iterator last, size_type buckets, const hasher& hash,
                 const allocator_type& allocator)
      : unordered_base(first, last, buckets, hash, key_equal(), allocator) {}
  template <typename Iterator, typename = if_iterator<Iterator>>
  unordered_base(Iterator first, Iterator last, const allocator_type& allocator)
      : unordered_base(first, last, kFirstBuckets, hasher(), key_equal(), allocator) {}

  // Insert the elements of the list.
  unordered_base(std::initializer_list<value_type> values, size_type buckets = kFirstBuckets,
                 const hasher& hash = hasher(), const key_equal& equal = key_equal(),
                 const allocator_type& allocator = allocator_type())
      : unordered_base(values.begin(), values.end(), buckets, hash, equal, allocator) {}
  unordered_base(std::initializer_list<value_type> values, size_type buckets,
                 const allocator_type& allocator)
      : unordered_base(values, buckets, hasher(), key_equal(), allocator) {}
  unordered_base(std::initializer_list<value_type> values, size_type buckets, const hasher& hash,
                 const allocator_type& allocator)
      : unordered_base(values, buckets, hash, key_equal(), allocator) {}
  unordered_base(std::initializer_list<value_type> values, const allocator_type& allocator)
      : unordered_base(values, kFirstBuckets, hasher(), key_equal(), allocator) {}

  // Copies the elements, the hash function and the comparison. `other` must not change meanwhile.
  unordered_base(const unordered_base& other)
      : unordered_base(other,
                       std::allocator_traits<Allocator>::select_on_container_copy_construction(
                           other.get_allocator())) {}
  unordered_base(const unordered_base& other, const allocator_type& allocator)
      : table(other, allocator) {
    this->copy_elements(other);
  }
  // Takes the elements of `other`, which has none afterwards and can be used again. With an
  // allocator that differs from that of `other`, each element is moved.
  unordered_base(unordered_base&& other) noexcept(
      std::is_nothrow_copy_constructible<Hash>::value &&
      std::is_nothrow_copy_constructible<key_equal>::value)
      : table(other, other.get_allocator()) {
    this->swap_contents(other);
  }
  unordered_base(unordered_base&& other, const allocator_type& allocator)
      : table(other, allocator) {
    this->take_elements(other);
  }
  ~unordered_base() = default;

  // Replace the elements, the hash function and the comparison. If copying throws, this container
  // is unchanged.
  unordered_base& operator=(const unordered_base& other) {
    if (this == &other) return *this;
    using propagates =
        typename std::allocator_traits<Allocator>::propagate_on_container_copy_assignment;
    unordered_base copy(other, propagates::value ? other.get_allocator() : this->get_allocator());
    this->swap_functions(copy, propagates());
    this->swap_contents(copy);
    return *this;
  }
  unordered_base& operator=(unordered_base&& other) noexcept(
      (std::allocator_traits<Allocator>::propagate_on_container_move_assignment::value ||
       allocators_are_equal<Allocator>::value) &&
      std::is_nothrow_copy_constructible<Hash>::value &&
      std::is_nothrow_copy_constructible<key_equal>::value && adl_swap::is_noexcept<Hash>::value &&
      adl_swap::is_noexcept<key_equal>::value) {
    if (this == &other) return *this;
    using propagates =
        typename std::allocator_traits<Allocator>::propagate_on_container_move_assignment;
    unordered_base taken(std::move(other),
                         propagates::value ? other.get_allocator() : this->get_allocator());
    this->swap_functions(taken, propagates());
    this->swap_contents(taken);
    return *this;
  }
  // Replaces the elements only.
  unordered_base& operator=(std::initializer_list<value_type> values) {
    clear();
    insert(values);
    return *this;
  }

  // ---- adding elements -------------------------------------------------------------------------
  // A container with unique keys keeps an element that has an equal key already. Return an iterator
  // to the new element or to that one, and without a hint, whether the element is new. Hints are
  // ignored.

  std::pair<iterator, bool> insert(const value_type& value) {
    return result(this->template insert_key<kMulti>(node::key_of(value), value));
  }
  std::pair<iterator, bool> insert(value_type&& value) {
    return result(this->template insert_key<kMulti>(node::key_of(value), std::move(value)));
  }
  // Constructs the element from what is not one, as emplace does.
  template <typename P,
            typename = typename std::enable_if<!std::is_same<Key, Value>::value &&
                                               std::is_constructible<value_type, P&&>::value>::type>
  std::pair<iterator, bool> insert(P&& value) {
    return emplace(std::forward<P>(value));
  }
  iterator insert(const_iterator, const value_type& value) { return insert(value).first; }
  iterator insert(const_iterator, value_type&& value) { return insert(std::move(value)).first; }
  template <typename P,
            typename = typename std::enable_if<!std::is_same<Key, Value>::value &&
                                               std::is_constructible<value_type, P&&>::value>::type>
  iterator insert(const_iterator, P&& value) {
    return emplace(std::forward<P>(value)).first;
  }
  template <typename Iterator, typename = if_iterator<Iterator>>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(*first);
  }
  void insert(std::initializer_list<value_type> values) { insert(values.begin(), values.end()); }

  // Inserts the node of the handle, which must be of a container with an equal allocator, and
  // leaves the handle empty. An empty handle: does nothing, and returns end(). If there is an
  // element with an equal key, or something throws, the handle keeps the node.
  std::pair<iterator, bool> insert(node_type&& handle) {
    node* const own = node_handle_access::get(handle);
    if (own == nullptr) return {end(), false};
    const std::pair<node*, bool> inserted = this->template insert_node<kMulti>(own);
    if (inserted.second) node_handle_access::release(handle);
    return result(inserted);
  }
  iterator insert(const_iterator, node_type&& handle) { return insert(std::move(handle)).first; }

  // Constructs the element from the arguments, then inserts it, or destroys it if there is one with
  // an equal key.
  template <typename... Args>
  std::pair<iterator, bool> emplace(Args&&... args) {
    typename table::node_owner made{*this,
                                    node::make(this->allocator(), std::forward<Args>(args)...)};
    const std::pair<node*, bool> inserted = this->template insert_node<kMulti>(made.owned);
    if (inserted.second) made.owned = nullptr;
    return result(inserted);
  }
  template <typename... Args>
  iterator emplace_hint(const_iterator, Args&&... args) {
    return emplace(std::forward<Args>(args)...).first;
  }

  // Moves the nodes of `source` into this container; those whose key has an equal one here, if keys
  // are unique, stay. Iterators to moved elements stay valid and belong to this container. Threads
  // may use this container meanwhile, also to merge other sources into it, but not `source`. If
  // something throws, the element that it throws for and those after it stay in `source`.
  template <typename OtherHash, typename OtherEqual, bool kOtherMulti>
  void merge(unordered_base<Key, Value, OtherHash, OtherEqual, Allocator, kOtherMulti>& source) {
    this->template merge_from<kMulti>(source);
  }
  template <typename OtherHash, typename OtherEqual, bool kOtherMulti>
  void merge(unordered_base<Key, Value, OtherHash, OtherEqual, Allocator, kOtherMulti>&& source) {
    this->template merge_from<kMulti>(source);
  }

  // ---- removing elements: exclusive access -----------------------------------------------------

  // Erase an element, or several. Return the iterator after the last one, or the number of elements
  // erased.
  iterator unsafe_erase(const_iterator position) {
    const iterator next(list::element_after(position.node()));
    this->erase_node(position.node());
    return next;
  }
  iterator unsafe_erase(iterator position) { return unsafe_erase(const_iterator(position)); }
  iterator unsafe_erase(const_iterator first, const_iterator last) {
    while (first != last) first = unsafe_erase(first);
    return iterator(last.node());
  }
  size_type unsafe_erase(const key_type& key) { return erase_key(key); }
  template <typename K, typename = if_other_key_to_erase<K>>
  size_type unsafe_erase(K&& key) {
    return erase_key(key);
  }

  // Take an element out, and return a handle that owns it; an empty one if no element has the key.
  node_type unsafe_extract(const_iterator position) {
    return node_handle_access::make<node_type>(this->remove_node(position.node()),
                                               this->get_allocator());
  }
  node_type unsafe_extract(iterator position) { return unsafe_extract(const_iterator(position)); }
  node_type unsafe_extract(const key_type& key) { return extract_key(key); }
  template <typename K, typename = if_other_key_to_erase<K>>
  node_type unsafe_extract(K&& key) {
    return extract_key(key);
  }

  // Erases all elements. The number of buckets stays.
  void clear() noexcept { this->clear_elements(); }

  // Exchanges the contents with another container's, whose allocator must be equal or propagate.
  // Iterators stay valid and belong to the other container.
  void swap(unordered_base& other) noexcept(adl_swap::is_noexcept<Hash>::value &&
                                            adl_swap::is_noexcept<key_equal>::value) {
    using propagates = typename std::allocator_traits<Allocator>::propagate_on_container_swap;
    this->swap_functions(other, propagates());
    this->swap_contents(other);
  }

  // ---- looking elements up ---------------------------------------------------------------------

  // Return the element with an equal key, for several the first one; end() if there is none.
  iterator find(const key_type& key) { return iterator(this->find_node(key)); }
  const_iterator find(const key_type& key) const { return const_iterator(this->find_node(key)); }
  template <typename K, typename = if_other_key<K>>
  iterator find(const K& key) {
    return iterator(this->find_node(key));
  }
  template <typename K, typename = if_other_key<K>>
  const_iterator find(const K& key) const {
    return const_iterator(this->find_node(key));
  }

  bool contains(const key_type& key) const { return this->find_node(key) != nullptr; }
  template <typename K, typename = if_other_key<K>>
  bool contains(const K& key) const {
    return this->find_node(key) != nullptr;
  }

  size_type count(const key_type& key) const { return count_key(key); }
  template <typename K, typename = if_other_key<K>>
  size_type count(const K& key) const {
    return count_key(key);
  }

  // Return the elements with equal keys, which are neighbours. An element that another thread adds
  // later may come to lie in the range, whatever its key.
  std::pair<iterator, iterator> equal_range(const key_type& key) {
    return equal_elements<iterator>(key);
  }
  std::pair<const_iterator, const_iterator> equal_range(const key_type& key) const {
    return equal_elements<const_iterator>(key);
  }
  template <typename K, typename = if_other_key<K>>
  std::pair<iterator, iterator> equal_range(const K& key) {
    return equal_elements<iterator>(key);
  }
  template <typename K, typename = if_other_key<K>>
  std::pair<const_iterator, const_iterator> equal_range(const K& key) const {
    return equal_elements<const_iterator>(key);
  }

  // ---- iteration -------------------------------------------------------------------------------

  iterator begin() noexcept { return iterator(this->list_.first()); }
  const_iterator begin() const noexcept { return const_iterator(this->list_.first()); }
  const_iterator cbegin() const noexcept { return begin(); }
  iterator end() noexcept { return iterator(); }
  const_iterator end() const noexcept { return const_iterator(); }
  const_iterator cend() const noexcept { return const_iterator(); }

  // Return all elements as a range for parallel algorithms.
  range_type range() { return range_type(*this); }
  const_range_type range() const { return const_range_type(*this); }

  // ---- buckets ---------------------------------------------------------------------------------
  // Bucket numbers are below unsafe_bucket_count(). A bucket's elements are neighbours.

  size_type unsafe_bucket(const key_type& key) const { return this->bucket_of(key); }
  size_type unsafe_bucket_size(size_type n) const {
    size_type size = 0;
    for (const_iterator it = unsafe_begin(n); it != unsafe_end(n); ++it) ++size;
    return size;
  }
  local_iterator unsafe_begin(size_type n) { return iterator(this->bucket_begin(n)); }
  const_local_iterator unsafe_begin(size_type n) const {
    return const_iterator(this->bucket_begin(n));
  }
  const_local_iterator unsafe_cbegin(size_type n) const { return unsafe_begin(n); }
  local_iterator unsafe_end(size_type n) { return iterator(this->bucket_end(n)); }
  const_local_iterator unsafe_end(size_type n) const { return const_iterator(this->bucket_end(n)); }
  const_local_iterator unsafe_cend(size_type n) const { return unsafe_end(n); }

  // Whether both containers have equal elements, in any order. Neither may change meanwhile.
  friend bool operator==(const unordered_base& a, const unordered_base& b) {
    if (a.size() != b.size()) return false;
    // Each element must occur as often in both groups of elements with its key.
    for (const_iterator it = a.begin(); it != a.end();) {
      const auto mine = a.equal_range(node::key_of(*it));
      const auto other = b.equal_range(node::key_of(*it));
      if (!are_permutations(mine.first, mine.second, other.first, other.second)) return false;
      it = mine.second;
    }
    return true;
  }
  friend bool operator!=(const unordered_base& a, const unordered_base& b) { return !(a == b); }

 private:
  static std::pair<iterator, bool> result(const std::pair<node*, bool>& inserted) {
    return {iterator(inserted.first), inserted.second};
  }

  // Returns the element after the last one whose key is equal to that of `first`. Sets `count` to
  // their number.
  template <typename K>
  node* end_of_equal(node* first, const K& key, size_type& count) const {
    node* last = list::element_after(first);
    for (count = 1; kMulti && last != nullptr && this->equal()(key, last->key()); ++count) {
      last = list::element_after(last);
    }
    return last;
  }

  template <typename Iterator, typename K>
  std::pair<Iterator, Iterator> equal_elements(const K& key) const {
    node* const first = this->find_node(key);
    if (first == nullptr) return {Iterator(), Iterator()};
    size_type count;
    return {Iterator(first), Iterator(end_of_equal(first, key, count))};
  }

  // Does not walk over equal_range: another thread may add an element to that meanwhile.
  template <typename K>
  size_type count_key(const K& key) const {
    node* const first = this->find_node(key);
    size_type count = 0;
    if (first != nullptr) end_of_equal(first, key, count);
    return count;
  }

  template <typename K>
  size_type erase_key(const K& key) {
    const std::pair<const_iterator, const_iterator> equal = equal_elements<const_iterator>(key);
    const size_type before = this->size();
    unsafe_erase(equal.first, equal.second);  // `key` may be part of an element
    return before - this->size();
  }

  template <typename K>
  node_type extract_key(const K& key) {
    node* const found = this->find_node(key);
    return found == nullptr ? node_type() : unsafe_extract(const_iterator(found));
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_UNORDERED_BASE_HPP
