// SPDX-License-Identifier: Apache-2.0
// The memory of a concurrent hash map: its nodes and buckets, all from the allocator of the
// program. Not for programs to include.
#ifndef CORBEL_DETAIL_HASH_MAP_MEMORY_HPP
#define CORBEL_DETAIL_HASH_MAP_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/element_lock.hpp>
#include <corbel/detail/hash_buckets.hpp>
#include <corbel/detail/retired_nodes.hpp>
#include <corbel/detail/succeeds.hpp>

namespace corbel {
namespace detail {

using element_lock = basic_element_lock<plain_atomic>;
using hash_buckets = basic_hash_buckets<plain_atomic, hash_buckets_sizes>;

// A node with an element. The value is constructed and destroyed by the allocator.
template <typename Value>
struct hash_map_node : hashed_node {
  // `holder` is inside the lock from the beginning, 0 if there is none.
  explicit hash_map_node(std::uint32_t holder) noexcept : lock(holder) {}

  Value* address() noexcept { return reinterpret_cast<Value*>(bytes); }
  Value& value() noexcept { return *address(); }

  element_lock lock;
  alignas(Value) unsigned char bytes[sizeof(Value)];
};

// What waits until no thread reads it any more: a node, or a block of a bucket.
class retired_node {
 public:
  retired_node() noexcept = default;
  explicit retired_node(hashed_node* n) noexcept : word_(reinterpret_cast<std::uintptr_t>(n)) {}
  explicit retired_node(hash_buckets::bucket* b) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(b) | kBlock) {}

  bool is_block() const noexcept { return (word_ & kBlock) != 0; }
  hashed_node* node() const noexcept { return reinterpret_cast<hashed_node*>(word_); }
  hash_buckets::bucket* block() const noexcept {
    return reinterpret_cast<hash_buckets::bucket*>(word_ - kBlock);
  }

 private:
  static constexpr std::uintptr_t kBlock = 1;

  std::uintptr_t word_;
};

// Requests and returns the memory. Several threads may use one object: each uses a copy of the
// allocator. Node is a hash_map_node<Value>.
template <typename Node, typename Value, typename Allocator>
class hash_map_memory {
  template <typename T>
  using traits_of = typename std::allocator_traits<Allocator>::template rebind_traits<T>;
  template <typename T>
  using allocator_of = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;

 public:
  using bucket = hash_buckets::bucket;
  using traits = traits_of<Value>;

  explicit hash_map_memory(const Allocator& allocator) : allocator_(allocator) {}

  const Allocator& allocator() const noexcept { return allocator_; }

  // The greatest number of nodes that the allocator has memory for.
  std::size_t max_nodes() const noexcept {
    return traits_of<Node>::max_size(allocator_of<Node>(allocator_));
  }

  // Assign or exchange the allocators, or leave them as they are: there is no memory of them.
  template <typename Memory>
  void assign(Memory&& other, std::true_type) {
    allocator_ = std::forward<Memory>(other).allocator_;
  }
  template <typename Memory>
  void assign(Memory&&, std::false_type) noexcept {}
  void swap(hash_map_memory& other, std::true_type) noexcept {
    using std::swap;
    swap(allocator_, other.allocator_);
  }
  void swap(hash_map_memory&, std::false_type) noexcept {}

  // Memory for n objects of T, not constructed. Throws what the allocator throws.
  template <typename T>
  T* allocate(std::size_t n) const {
    allocator_of<T> allocator(allocator_);
    return raw(traits_of<T>::allocate(allocator, n));
  }
  template <typename T>
  void deallocate(T* memory, std::size_t n) const noexcept {
    allocator_of<T> allocator(allocator_);
    using pointer = typename traits_of<T>::pointer;
    traits_of<T>::deallocate(allocator, fancy(memory, static_cast<pointer*>(nullptr)), n);
  }

  template <typename... Arguments>
  void construct(Node* node, Arguments&&... arguments) const {
    allocator_of<Value> allocator(allocator_);
    traits::construct(allocator, node->address(), std::forward<Arguments>(arguments)...);
  }
  void destroy_value(Node* node) const noexcept {
    allocator_of<Value> allocator(allocator_);
    traits::destroy(allocator, node->address());
  }

  // ---- what retired_nodes asks for

  void free_node(Node* node) const noexcept {
    node->~Node();
    deallocate(node, 1);
  }
  void free_node(retired_node retired) const noexcept {
    if (retired.is_block()) {
      deallocate(retired.block(), 1);
    } else {
      free_node(static_cast<Node*>(retired.node()));
    }
  }
  void* allocate_batch(std::size_t words) const noexcept {
    void* memory = nullptr;
    succeeds([&] { memory = allocate<void*>(words); });
    return memory;
  }
  void free_batch(void* memory, std::size_t words) const noexcept {
    deallocate(static_cast<void**>(memory), words);
  }

 private:
  template <typename T>
  static T* raw(T* pointer) {
    return pointer;
  }
  template <typename Pointer>
  static auto raw(const Pointer& pointer) -> decltype(std::addressof(*pointer)) {
    return std::addressof(*pointer);
  }
  template <typename T>
  static T* fancy(T* pointer, T**) noexcept {
    return pointer;
  }
  template <typename T, typename Pointer>
  static Pointer fancy(T* pointer, Pointer*) noexcept {
    return std::pointer_traits<Pointer>::pointer_to(*pointer);
  }

  Allocator allocator_;
};

// Owns a node until it is given away.
template <typename Memory, typename Node>
class hash_map_node_owner {
 public:
  // `holder` is that of the node's lock.
  hash_map_node_owner(const Memory& memory, std::uint32_t holder) noexcept
      : memory_(memory), node_(nullptr), holder_(holder) {}
  ~hash_map_node_owner() {
    if (node_ == nullptr) return;
    memory_.destroy_value(node_);
    memory_.free_node(node_);
  }
  hash_map_node_owner(const hash_map_node_owner&) = delete;
  hash_map_node_owner& operator=(const hash_map_node_owner&) = delete;

  // Makes a node with a value from the arguments. Throws what the allocator and the constructor
  // throw.
  template <typename... Arguments>
  Node& make(Arguments&&... arguments) {
    raw_node raw{memory_, memory_.template allocate<Node>(1)};
    ::new (static_cast<void*>(raw.node)) Node(holder_);
    memory_.construct(raw.node, std::forward<Arguments>(arguments)...);
    node_ = raw.node;
    raw.node = nullptr;
    return *node_;
  }

  bool empty() const noexcept { return node_ == nullptr; }

  // The node, which gets the given hash.
  Node* prepare(std::uint32_t hash) noexcept {
    node_->hash = hash;
    return node_;
  }
  // The node has another owner now.
  void give_away() noexcept { node_ = nullptr; }

 private:
  struct raw_node {
    const Memory& memory;
    Node* node;
    ~raw_node() {
      if (node != nullptr) memory.free_node(node);
    }
  };

  const Memory& memory_;
  Node* node_;
  const std::uint32_t holder_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_MAP_MEMORY_HPP
