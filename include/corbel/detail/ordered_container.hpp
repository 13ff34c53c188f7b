// SPDX-License-Identifier: Apache-2.0
// What concurrent_map, concurrent_multimap, concurrent_set and concurrent_multiset have in common.
// Not for programs to include.
#ifndef CORBEL_DETAIL_ORDERED_CONTAINER_HPP
#define CORBEL_DETAIL_ORDERED_CONTAINER_HPP

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/node_handle.hpp>
#include <corbel/detail/ordered_core.hpp>
#include <corbel/detail/ordered_iterator.hpp>
#include <corbel/detail/ordered_node.hpp>

namespace corbel {
namespace detail {

// `type` is K if Compare is transparent and K is not one of the Others, and depends on K.
template <typename Compare, typename K, typename = void>
struct transparent {};
template <typename...>
struct make_void {
  using type = void;
};
template <typename Compare, typename K>
struct transparent<Compare, K, typename make_void<typename Compare::is_transparent>::type> {
  using type = K;
};

// Sorted by the keys of the elements. `Policy` says what the elements are:
//   key_type, value_type, key_compare, value_compare, allocator_type
//   node_type                                  the node handle
//   node                                       an ordered_node
//   node_types                                 its ordered_node_types
//   kMulti                                     whether elements may have equal keys
//   static const key_type& key(const value_type&)
//   early_key(args...)                         the key of the element that the arguments make, or
//                                              nothing if it must be made to know its key
//
// Any number of threads may call insert, emplace, the lookups, size, and iterate, at the same time.
// What the name of starts with unsafe_, clear, swap, merge, the assignments, and the destructor
// need exclusive access. merge also needs it to the source.
//
// Insertions invalidate no iterator and no reference. A single insertion that throws, whatever
// throws it, has no effect.
template <typename Policy>
class ordered_container : private ordered_core<Policy> {
  template <typename>
  friend class ordered_core;
  using core = ordered_core<Policy>;
  using core::allocator_;
  using core::compare_;
  using core::list_;
  using typename core::link;
  using typename core::node;
  using typename core::node_traits;
  using plain_traits = std::allocator_traits<typename Policy::allocator_type>;
  template <typename P>
  using if_makes_element = typename std::enable_if<
      !std::is_same<typename Policy::key_type, typename Policy::value_type>::value &&
      std::is_constructible<typename Policy::value_type, P&&>::value>::type;

 public:
  using key_type = typename Policy::key_type;
  using value_type = typename Policy::value_type;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using key_compare = typename Policy::key_compare;
  using value_compare = typename Policy::value_compare;
  using allocator_type = typename Policy::allocator_type;
  using reference = value_type&;
  using const_reference = const value_type&;
  using pointer = typename plain_traits::pointer;
  using const_pointer = typename plain_traits::const_pointer;
  using iterator = ordered_iterator<node, value_type>;
  using const_iterator = ordered_iterator<node, const value_type>;
  using node_type = typename Policy::node_type;
  using range_type = ordered_range<typename Policy::node_types::list, iterator>;
  using const_range_type = ordered_range<typename Policy::node_types::list, const_iterator>;

  // Make an empty container. They allocate nothing, and throw only what copying the comparison or
  // the allocator throws.
  ordered_container() : core(key_compare(), allocator_type()) {}
  explicit ordered_container(const key_compare& compare,
                             const allocator_type& allocator = allocator_type())
      : core(compare, allocator) {}
  explicit ordered_container(const allocator_type& allocator) : core(key_compare(), allocator) {}

  // Make a container of the elements of [first, last), as insert does.
  template <typename InputIterator,
            typename = typename std::iterator_traits<InputIterator>::iterator_category>
  ordered_container(InputIterator first, InputIterator last,
                    const key_compare& compare = key_compare(),
                    const allocator_type& allocator = allocator_type())
      : ordered_container(compare, allocator) {
    insert(first, last);
  }
  template <typename InputIterator,
            typename = typename std::iterator_traits<InputIterator>::iterator_category>
  ordered_container(InputIterator first, InputIterator last, const allocator_type& allocator)
      : ordered_container(first, last, key_compare(), allocator) {}
  ordered_container(std::initializer_list<value_type> elements,
                    const key_compare& compare = key_compare(),
                    const allocator_type& allocator = allocator_type())
      : ordered_container(elements.begin(), elements.end(), compare, allocator) {}
  ordered_container(std::initializer_list<value_type> elements, const allocator_type& allocator)
      : ordered_container(elements.begin(), elements.end(), key_compare(), allocator) {}

  // Make a copy. Without an allocator, it is select_on_container_copy_construction of the other.
  ordered_container(const ordered_container& other)
      : ordered_container(
            other.compare_,
            allocator_type(node_traits::select_on_container_copy_construction(other.allocator_))) {
    this->template append<const value_type&>(other);
  }
  ordered_container(const ordered_container& other, const allocator_type& allocator)
      : ordered_container(other.compare_, allocator) {
    this->template append<const value_type&>(other);
  }

  // Take the elements of `other`, which is empty afterwards. They stay where they are, unless the
  // given allocator is not equal to that of `other`: then each of them is moved.
  ordered_container(ordered_container&& other) noexcept(
      std::is_nothrow_copy_constructible<key_compare>::value)
      : core(other.compare_, std::move(other.allocator_)) {
    list_.swap(other.list_);
  }
  ordered_container(ordered_container&& other, const allocator_type& allocator)
      : ordered_container(other.compare_, allocator) {
    if (allocator_ == other.allocator_) {
      list_.swap(other.list_);
    } else {
      this->template append<value_type&&>(other);
      other.clear();
    }
  }

  // Replace the contents. If making the new elements throws, the container is unchanged. The copy
  // and the move assignment replace the allocator if its propagate_on_container_copy_assignment or
  // propagate_on_container_move_assignment says so. A move assignment between allocators that are
  // not equal and stay moves each element; any other takes the elements as they are.
  ordered_container& operator=(const ordered_container& other) {
    using propagate = typename node_traits::propagate_on_container_copy_assignment;
    if (this == &other) return *this;
    ordered_container copy(other, allocator_type(propagate::value ? other.allocator_ : allocator_));
    this->exchange_contents(copy, propagate());
    return *this;
  }
  ordered_container& operator=(ordered_container&& other) noexcept(
      node_traits::is_always_equal::value && std::is_nothrow_copy_assignable<key_compare>::value) {
    using propagate = typename node_traits::propagate_on_container_move_assignment;
    if (this == &other) return *this;
    if (propagate::value || allocator_ == other.allocator_) {
      clear();
      compare_ = other.compare_;
      list_.swap(other.list_);
      this->move_allocator(other, propagate());
    } else {
      ordered_container moved(std::move(other), get_allocator());
      this->exchange_contents(moved, std::false_type());
    }
    return *this;
  }
  ordered_container& operator=(std::initializer_list<value_type> elements) {
    ordered_container made(elements, compare_, get_allocator());
    list_.swap(made.list_);
    return *this;
  }

  // Returns a copy of the allocator.
  allocator_type get_allocator() const { return allocator_type(allocator_); }

  // Iterate in the order of the keys.
  iterator begin() noexcept { return iterator(list_.next(list_.head())); }
  const_iterator begin() const noexcept { return const_iterator(list_.next(list_.head())); }
  const_iterator cbegin() const noexcept { return begin(); }
  iterator end() noexcept { return iterator(); }
  const_iterator end() const noexcept { return const_iterator(); }
  const_iterator cend() const noexcept { return const_iterator(); }

  // The number of elements. While other threads insert, an element may be found before it counts.
  size_type size() const noexcept { return list_.size(); }
  bool empty() const noexcept { return list_.next(list_.head()) == nullptr; }
  size_type max_size() const noexcept { return node_traits::max_size(allocator_); }

  // Insert an element. Return where it is and true; or false and the element that has an equal key,
  // which only containers with unique keys refuse. An element with the same key as others comes
  // after them. A hint is ignored.
  std::pair<iterator, bool> insert(const value_type& value) {
    return this->insert_value(Policy::key(value), value);
  }
  std::pair<iterator, bool> insert(value_type&& value) {
    return this->insert_value(Policy::key(value), std::move(value));
  }
  iterator insert(const_iterator, const value_type& value) { return insert(value).first; }
  iterator insert(const_iterator, value_type&& value) { return insert(std::move(value)).first; }

  // Into maps only: insert the element that the value makes.
  template <typename P, typename = if_makes_element<P>>
  std::pair<iterator, bool> insert(P&& value) {
    return emplace(std::forward<P>(value));
  }
  template <typename P, typename = if_makes_element<P>>
  iterator insert(const_iterator, P&& value) {
    return emplace(std::forward<P>(value)).first;
  }

  // Insert the element that the arguments make.
  template <typename... Arguments>
  std::pair<iterator, bool> emplace(Arguments&&... arguments) {
    return this->emplace_by(Policy::early_key(arguments...), std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  iterator emplace_hint(const_iterator, Arguments&&... arguments) {
    return emplace(std::forward<Arguments>(arguments)...).first;
  }

  // Insert several elements. If that throws, the elements before are inserted.
  template <typename InputIterator,
            typename = typename std::iterator_traits<InputIterator>::iterator_category>
  void insert(InputIterator first, InputIterator last) {
    for (; first != last; ++first) emplace(*first);
  }
  void insert(std::initializer_list<value_type> elements) {
    insert(elements.begin(), elements.end());
  }

  // Insert the element of a node handle from a container with an equal allocator. The handle is
  // empty afterwards; it keeps an element that is refused. An empty one inserts nothing, and the
  // iterator is end().
  std::pair<iterator, bool> insert(node_type&& handle) {
    node* const owned = node_handle_access::get(handle);
    if (owned == nullptr) return {end(), false};
    CORBEL_ASSERT(handle.get_allocator() == get_allocator(), "a node of another allocator");
    const std::pair<iterator, bool> result = this->insert_node(owned);
    if (result.second) node_handle_access::release(handle);
    return result;
  }
  iterator insert(const_iterator, node_type&& handle) { return insert(std::move(handle)).first; }

  // Move all elements that this container does not refuse from another one of the same kind of
  // elements, without copying or moving the elements themselves. If a comparison throws, the
  // elements before are moved.
  template <typename Other>
  void merge(ordered_container<Other>& source) {
    static_assert(std::is_same<node_type, typename Other::node_type>::value,
                  "the same kind of elements");
    if (static_cast<const void*>(this) == static_cast<const void*>(&source)) return;
    this->merge_from(source);
  }
  template <typename Other>
  void merge(ordered_container<Other>&& source) {
    merge(source);
  }

  // ---- exclusive access -------------------------------------------------------------------------

  // Destroys all elements.
  void clear() noexcept { this->destroy_all(); }

  // Remove elements: one; those of [first, last); all with the key, whose number is returned.
  // Return the iterator to the element after them.
  iterator unsafe_erase(const_iterator position) {
    return unsafe_erase(position, std::next(position));
  }
  iterator unsafe_erase(iterator position) { return unsafe_erase(const_iterator(position)); }
  iterator unsafe_erase(const_iterator first, const_iterator last) {
    this->erase(first.tower(), last.tower());
    return iterator(last.tower());
  }
  size_type unsafe_erase(const key_type& key) { return erase_key(key); }
  template <
      typename K, typename = typename transparent<key_compare, K>::type,
      typename = typename std::enable_if<!std::is_convertible<K, iterator>::value &&
                                         !std::is_convertible<K, const_iterator>::value>::type>
  size_type unsafe_erase(const K& key) {
    return erase_key(key);
  }

  // Take an element out: that at the position, or the first with the key. The handle is empty if
  // there is none. References to the element stay valid.
  node_type unsafe_extract(const_iterator position) {
    return node_handle_access::make<node_type>(this->extract(position.tower()), get_allocator());
  }
  node_type unsafe_extract(iterator position) { return unsafe_extract(const_iterator(position)); }
  node_type unsafe_extract(const key_type& key) { return extract_key(key); }
  template <
      typename K, typename = typename transparent<key_compare, K>::type,
      typename = typename std::enable_if<!std::is_convertible<K, iterator>::value &&
                                         !std::is_convertible<K, const_iterator>::value>::type>
  node_type unsafe_extract(const K& key) {
    return extract_key(key);
  }

  // Exchanges the contents; and the allocators, if propagate_on_container_swap says so. They must
  // be equal otherwise.
  void swap(ordered_container& other) noexcept(node_traits::is_always_equal::value) {
    using propagate = typename node_traits::propagate_on_container_swap;
    CORBEL_ASSERT(propagate::value || allocator_ == other.allocator_, "unequal allocators");
    this->exchange_contents(other, propagate());
  }

  // ---- lookup. The forms for any type K need a transparent comparison --------------------------

  // Returns the first element with the key; end() if there is none.
  iterator find(const key_type& key) { return iterator(this->find_key(key)); }
  const_iterator find(const key_type& key) const { return const_iterator(this->find_key(key)); }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  iterator find(const K& key) {
    return iterator(this->find_key(key));
  }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  const_iterator find(const K& key) const {
    return const_iterator(this->find_key(key));
  }

  // Whether there is an element with the key.
  bool contains(const key_type& key) const { return this->find_key(key) != nullptr; }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  bool contains(const K& key) const {
    return this->find_key(key) != nullptr;
  }

  // Returns the number of elements with the key.
  size_type count(const key_type& key) const { return this->count_key(key); }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  size_type count(const K& key) const {
    return this->count_key(key);
  }

  // Returns the first element whose key is not before the given one.
  iterator lower_bound(const key_type& key) { return iterator(this->lower(key)); }
  const_iterator lower_bound(const key_type& key) const { return const_iterator(this->lower(key)); }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  iterator lower_bound(const K& key) {
    return iterator(this->lower(key));
  }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  const_iterator lower_bound(const K& key) const {
    return const_iterator(this->lower(key));
  }

  // Returns the first element whose key is after the given one.
  iterator upper_bound(const key_type& key) { return iterator(this->upper(key)); }
  const_iterator upper_bound(const key_type& key) const { return const_iterator(this->upper(key)); }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  iterator upper_bound(const K& key) {
    return iterator(this->upper(key));
  }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  const_iterator upper_bound(const K& key) const {
    return const_iterator(this->upper(key));
  }

  // Returns lower_bound and upper_bound.
  std::pair<iterator, iterator> equal_range(const key_type& key) {
    return this->template range_of<iterator>(key);
  }
  std::pair<const_iterator, const_iterator> equal_range(const key_type& key) const {
    return this->template range_of<const_iterator>(key);
  }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  std::pair<iterator, iterator> equal_range(const K& key) {
    return this->template range_of<iterator>(key);
  }
  template <typename K, typename = typename transparent<key_compare, K>::type>
  std::pair<const_iterator, const_iterator> equal_range(const K& key) const {
    return this->template range_of<const_iterator>(key);
  }

  // Return copies of what compares keys and elements.
  key_compare key_comp() const { return compare_; }
  value_compare value_comp() const { return Policy::make_value_compare(compare_); }

  // Return all elements as a range for parallel algorithms.
  range_type range() { return range_type(list_); }
  const_range_type range() const { return const_range_type(list_); }

 protected:
  // The element of the map with the key, for operator[] and at.
  using core::find_key;
  using core::insert_value;

 private:
  template <typename K>
  size_type erase_key(const K& key) {
    const size_type before = size();
    const auto range = this->template range_of<const_iterator>(key);
    unsafe_erase(range.first, range.second);
    return before - size();
  }
  template <typename K>
  node_type extract_key(const K& key) {
    link* const found = this->find_key(key);
    return found == nullptr ? node_type() : unsafe_extract(const_iterator(found));
  }
};

// Compare the sequences of elements: by ==, and lexicographically by <.
template <typename Policy>
bool operator==(const ordered_container<Policy>& a, const ordered_container<Policy>& b) {
  auto i = a.begin(), j = b.begin();
  for (; i != a.end() && j != b.end(); ++i, ++j) {
    if (!(*i == *j)) return false;
  }
  return i == a.end() && j == b.end();
}
template <typename Policy>
bool operator<(const ordered_container<Policy>& a, const ordered_container<Policy>& b) {
  auto i = a.begin(), j = b.begin();
  for (; i != a.end() && j != b.end(); ++i, ++j) {
    if (*i < *j) return true;
    if (*j < *i) return false;
  }
  return i == a.end() && j != b.end();
}
template <typename Policy>
bool operator!=(const ordered_container<Policy>& a, const ordered_container<Policy>& b) {
  return !(a == b);
}
template <typename Policy>
bool operator>(const ordered_container<Policy>& a, const ordered_container<Policy>& b) {
  return b < a;
}
template <typename Policy>
bool operator<=(const ordered_container<Policy>& a, const ordered_container<Policy>& b) {
  return !(b < a);
}
template <typename Policy>
bool operator>=(const ordered_container<Policy>& a, const ordered_container<Policy>& b) {
  return !(a < b);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ORDERED_CONTAINER_HPP
