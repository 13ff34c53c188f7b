// SPDX-License-Identifier: Apache-2.0
// The nodes of the concurrent unordered containers, their iterators, and what the containers need
// to know of their parameters. Not for programs to include.
#ifndef CORBEL_DETAIL_UNORDERED_NODE_HPP
#define CORBEL_DETAIL_UNORDERED_NODE_HPP

#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/split_list.hpp>

namespace corbel {
namespace detail {

// Allocates objects of another type than the allocator's, not constructed. Both throw what the
// allocator throws.
template <typename T, typename Allocator>
T* allocate_with(const Allocator& allocator, std::size_t n) {
  typename std::allocator_traits<Allocator>::template rebind_alloc<T> rebound(allocator);
  return std::addressof(*std::allocator_traits<decltype(rebound)>::allocate(rebound, n));
}
template <typename T, typename Allocator>
void deallocate_with(const Allocator& allocator, T* memory, std::size_t n) noexcept {
  typename std::allocator_traits<Allocator>::template rebind_alloc<T> rebound(allocator);
  using traits = std::allocator_traits<decltype(rebound)>;
  traits::deallocate(rebound, std::pointer_traits<typename traits::pointer>::pointer_to(*memory),
                     n);
}

// Where a node keeps its spread hash value. Numbers and pointers are hashed again instead: that is
// quicker than to load the value, and a node of a small element takes a third less memory.
template <bool kKeepsHash>
struct hash_field {
  template <typename Hash, typename Key>
  static std::size_t get(const Hash& hash, const Key& key) {
    return spread(static_cast<std::size_t>(hash(key)));
  }
  static void set(std::size_t) noexcept {}
  static bool may_equal(std::size_t) noexcept { return true; }
};
template <>
struct hash_field<true> {
  template <typename Hash, typename Key>
  std::size_t get(const Hash&, const Key&) const noexcept {
    return value;
  }
  void set(std::size_t hash) noexcept { value = hash; }
  bool may_equal(std::size_t hash) const noexcept { return value == hash; }
  std::size_t value;
};

template <typename Key>
using hash_field_for = hash_field<!(std::is_integral<Key>::value || std::is_enum<Key>::value ||
                                    std::is_pointer<Key>::value)>;

// A node of the list with an element of type Value. Its type depends on neither how a container
// hashes and compares its keys nor on whether they are unique: nodes can be moved between such
// containers.
template <typename Key, typename Value>
class unordered_node : public split_link<std::atomic>, private hash_field_for<Key> {
 public:
  using value_type = Value;
  using hash_store = hash_field_for<Key>;  // a base: it may be empty

  Value& value() noexcept { return value_; }
  const Value& value() const noexcept { return value_; }
  const Key& key() const noexcept { return key_of(value_); }

  static const Key& key_of(const Key& value) noexcept { return value; }
  template <typename Mapped>
  static const Key& key_of(const std::pair<const Key, Mapped>& value) noexcept {
    return value.first;
  }

  // Makes a node whose element is constructed from the arguments. Throws what the allocator or the
  // constructor throws.
  template <typename Allocator, typename... Args>
  static unordered_node* make(Allocator& allocator, Args&&... args) {
    memory_owner<Allocator> memory{allocator, allocate_with<unordered_node>(allocator, 1)};
    ::new (static_cast<void*>(memory.node)) unordered_node;
    std::allocator_traits<Allocator>::construct(allocator, std::addressof(memory.node->value_),
                                                std::forward<Args>(args)...);
    unordered_node* const made = memory.node;
    memory.node = nullptr;
    return made;
  }

  // Destroys the element and frees the node.
  template <typename Allocator>
  static void destroy(Allocator& allocator, unordered_node* node) noexcept {
    std::allocator_traits<Allocator>::destroy(allocator, std::addressof(node->value_));
    const memory_owner<Allocator> freed{allocator, node};
  }

  hash_store& stored_hash() noexcept { return *this; }
  const hash_store& stored_hash() const noexcept { return *this; }

 private:
  template <typename Allocator>
  struct memory_owner {
    ~memory_owner() {
      if (node == nullptr) return;
      node->~unordered_node();
      deallocate_with(allocator, node, 1);
    }
    Allocator& allocator;
    unordered_node* node;
  };

  unordered_node() : split_link<std::atomic>(0) {}
  ~unordered_node() {}

  union {
    Value value_;
  };
};

// A forward iterator. `Value` is the element's type, with const for a const_iterator. Stays valid
// until its element is erased or taken out.
template <typename Node, typename Value>
class unordered_iterator {
  using list = basic_split_list<Node, std::atomic>;

 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = typename std::remove_const<Value>::type;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  unordered_iterator() noexcept = default;
  explicit unordered_iterator(Node* node) noexcept : node_(node) {}
  // From iterator to const_iterator.
  template <typename Other,
            typename = typename std::enable_if<std::is_same<const Other, Value>::value &&
                                               !std::is_const<Other>::value>::type>
  unordered_iterator(const unordered_iterator<Node, Other>& other) noexcept : node_(other.node()) {}

  reference operator*() const noexcept { return node_->value(); }
  pointer operator->() const noexcept { return std::addressof(node_->value()); }

  // Another thread may add elements meanwhile: the iterator finds those that come after its own.
  unordered_iterator& operator++() noexcept {
    node_ = list::element_after(node_);
    return *this;
  }
  unordered_iterator operator++(int) noexcept {
    const unordered_iterator before = *this;
    ++*this;
    return before;
  }

  // For the containers.
  Node* node() const noexcept { return node_; }

 private:
  Node* node_ = nullptr;
};

template <typename Node, typename A, typename B>
bool operator==(const unordered_iterator<Node, A>& a, const unordered_iterator<Node, B>& b) {
  return a.node() == b.node();
}
template <typename Node, typename A, typename B>
bool operator!=(const unordered_iterator<Node, A>& a, const unordered_iterator<Node, B>& b) {
  return a.node() != b.node();
}

// How keys are compared: by Hash::transparent_key_equal if there is one, else by KeyEqual. Whether
// keys of other types may be looked up: if Hash has that type, or if both have is_transparent as in
// C++20.
template <typename T>
struct made_void {
  using type = void;
};
template <typename T, typename = void>
struct is_transparent : std::false_type {};
template <typename T>
struct is_transparent<T, typename made_void<typename T::is_transparent>::type> : std::true_type {};

template <typename Hash, typename KeyEqual, typename = void>
struct key_comparison {
  using equal = KeyEqual;
  static constexpr bool kIsTransparent =
      is_transparent<Hash>::value && is_transparent<KeyEqual>::value;
};
template <typename Hash, typename KeyEqual>
struct key_comparison<Hash, KeyEqual,
                      typename made_void<typename Hash::transparent_key_equal>::type> {
  using equal = typename Hash::transparent_key_equal;
  static constexpr bool kIsTransparent = true;
};

// Whether all allocators of the type are equal, which the traits tell since C++17.
template <typename Allocator, typename = void>
struct allocators_are_equal : std::is_empty<Allocator> {};
template <typename Allocator>
struct allocators_are_equal<
    Allocator, typename made_void<typename std::allocator_traits<Allocator>::is_always_equal>::type>
    : std::allocator_traits<Allocator>::is_always_equal {};

namespace adl_swap {
using std::swap;
template <typename T>
struct is_noexcept
    : std::integral_constant<bool, noexcept(swap(std::declval<T&>(), std::declval<T&>()))> {};
}  // namespace adl_swap

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_UNORDERED_NODE_HPP
