// SPDX-License-Identifier: Apache-2.0
// Node handles: the owners of elements that were taken out of a concurrent container. One class
// template for the ordered and the unordered containers. Not for programs to include.
#ifndef CORBEL_DETAIL_NODE_HANDLE_HPP
#define CORBEL_DETAIL_NODE_HANDLE_HPP

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// What the containers ask of a node handle, and no program: they are its friends.
struct node_handle_access {
  // Makes a handle that owns the node.
  template <typename Handle, typename Node, typename Allocator>
  static Handle make(Node* node, const Allocator& allocator) {
    return Handle(node, allocator);
  }
  // Returns the node of the handle; nullptr if it is empty.
  template <typename Handle>
  static typename Handle::node* get(const Handle& handle) noexcept {
    return handle.node_;
  }
  // Leaves the handle empty without destroying its node, which it returns.
  template <typename Handle>
  static typename Handle::node* release(Handle& handle) noexcept {
    return handle.release();
  }
};

// Owns a node, or none. `Node` provides
//   Value& value();                                        the element
//   static void destroy(Allocator& allocator, Node* node); destroys the element, frees the memory
// where `allocator` is for elements and must be rebound. Handles of containers that differ only in
// how they compare, hash or count equal keys are of the same type, since `Node` is.
template <typename Value, typename Node, typename Allocator>
class basic_node_handle {
 public:
  using allocator_type = Allocator;

  // An empty handle.
  constexpr basic_node_handle() noexcept : node_(nullptr), none_() {}

  // Take the node of `other`, which is empty afterwards. The assignment destroys the node that the
  // handle had.
  basic_node_handle(basic_node_handle&& other) noexcept : node_(nullptr), none_() { take(other); }
  basic_node_handle& operator=(basic_node_handle&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }

  ~basic_node_handle() { reset(); }

  // Whether the handle owns no node.
  bool empty() const noexcept { return node_ == nullptr; }
  explicit operator bool() const noexcept { return node_ != nullptr; }

  // Returns a copy of the allocator of the container that the node comes from. The handle must not
  // be empty.
  allocator_type get_allocator() const {
    CORBEL_ASSERT(!empty(), "an empty node handle has no allocator");
    return allocator_;
  }

 protected:
  friend struct node_handle_access;
  using node = Node;

  basic_node_handle(Node* owned, const Allocator& allocator)
      : node_(owned), allocator_(allocator) {}

  Node* release() noexcept {
    Node* const released = node_;
    if (released != nullptr) {
      allocator_.~Allocator();
      node_ = nullptr;
    }
    return released;
  }

  void swap_nodes(basic_node_handle& other) noexcept {
    basic_node_handle kept(std::move(other));
    other.take(*this);
    take(kept);
  }

  Value& element() const {
    CORBEL_ASSERT(!empty(), "an empty node handle has no element");
    return node_->value();
  }

 private:
  void reset() noexcept {
    if (node_ == nullptr) return;
    Node::destroy(allocator_, node_);
    release();
  }

  // This handle must be empty.
  void take(basic_node_handle& other) noexcept {
    if (other.node_ == nullptr) return;
    ::new (static_cast<void*>(std::addressof(allocator_))) Allocator(std::move(other.allocator_));
    node_ = other.release();
  }

  Node* node_;
  // An empty handle has no allocator: the type need not be default-constructible.
  union {
    char none_;
    Allocator allocator_;
  };
};

// The handle of the maps: Value is std::pair<const Key, Mapped>.
template <typename Key, typename Value, typename Node, typename Allocator>
class node_handle : public basic_node_handle<Value, Node, Allocator> {
  using base = basic_node_handle<Value, Node, Allocator>;

 public:
  using key_type = Key;
  using mapped_type = typename Value::second_type;

  constexpr node_handle() noexcept = default;
  node_handle(node_handle&&) noexcept = default;
  node_handle& operator=(node_handle&&) noexcept = default;

  // Return the parts of the element. The key may be changed. The handle must not be empty.
  key_type& key() const { return const_cast<key_type&>(this->element().first); }
  mapped_type& mapped() const { return this->element().second; }

  // Exchange the nodes.
  void swap(node_handle& other) noexcept { this->swap_nodes(other); }
  friend void swap(node_handle& a, node_handle& b) noexcept { a.swap(b); }

 private:
  friend struct node_handle_access;
  using typename base::node;
  node_handle(Node* from, const Allocator& allocator) : base(from, allocator) {}
};

// The handle of the sets, whose elements are their keys.
template <typename Key, typename Node, typename Allocator>
class node_handle<Key, Key, Node, Allocator> : public basic_node_handle<Key, Node, Allocator> {
  using base = basic_node_handle<Key, Node, Allocator>;

 public:
  using value_type = Key;

  constexpr node_handle() noexcept = default;
  node_handle(node_handle&&) noexcept = default;
  node_handle& operator=(node_handle&&) noexcept = default;

  // Returns the element, which may be changed. The handle must not be empty.
  value_type& value() const { return this->element(); }

  // Exchange the nodes.
  void swap(node_handle& other) noexcept { this->swap_nodes(other); }
  friend void swap(node_handle& a, node_handle& b) noexcept { a.swap(b); }

 private:
  friend struct node_handle_access;
  using typename base::node;
  node_handle(Node* from, const Allocator& allocator) : base(from, allocator) {}
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_NODE_HANDLE_HPP
