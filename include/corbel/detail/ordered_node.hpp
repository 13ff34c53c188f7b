// SPDX-License-Identifier: Apache-2.0
// The nodes of the ordered containers: an element and the tower in front of it. Not for programs to
// include.
#ifndef CORBEL_DETAIL_ORDERED_NODE_HPP
#define CORBEL_DETAIL_ORDERED_NODE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <corbel/detail/skip_list.hpp>

namespace corbel {
namespace detail {

// What nodes are made of. Value may be incomplete: a class can have a container of itself.
template <typename Value, typename Allocator, bool kHinted>
struct ordered_node_types {
  // An empty container is mainly its highest tower. With hints and
  // the usual comparison, most searches begin in the index.
  using list = basic_skip_list<std::atomic, kHinted, kHinted ? 11 : 16>;
  using link = typename list::link;

  // What nodes are allocated in.
  struct unit;
  using allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<unit>;
  using traits = std::allocator_traits<allocator>;
};

template <typename Value, typename Allocator, bool kHinted>
struct ordered_node_types<Value, Allocator, kHinted>::unit {
  static constexpr std::size_t kBytes = alignof(Value) > alignof(link) ? alignof(Value)
                                                                       : alignof(link);
  alignas(kBytes) unsigned char bytes[kBytes];
};

// A tower stands in front of its node in memory. A node that is in no list keeps the height of its
// tower in the link of level 0.
template <typename Value, typename Allocator, bool kHinted>
class ordered_node {
  using types = ordered_node_types<Value, Allocator, kHinted>;
  using link = typename types::link;

 public:
  using list = typename types::list;
  using unit = typename types::unit;
  using allocator = typename types::allocator;
  using traits = typename types::traits;

  union {
    Value element;
  };

  static ordered_node* of(link* tower) { return reinterpret_cast<ordered_node*>(tower); }
  link* tower() { return reinterpret_cast<link*>(this); }
  Value& value() { return element; }

  // Makes a node with a tower of the given height from the arguments. Throws what the allocator and
  // the constructor throw.
  template <typename... Arguments>
  static ordered_node* make(allocator& a, int height, Arguments&&... arguments) {
    struct block {
      ~block() {
        if (memory != nullptr) free_units(from, memory, units(height));
      }
      allocator& from;
      int height;
      unit* memory;
    } owned{a, height, allocate_units(a, units(height))};
    ordered_node* const node =
        ::new (static_cast<void*>(owned.memory + units_of_tower(height))) ordered_node;
    for (int word = 1; word <= list::words_of(height); ++word)
      ::new (static_cast<void*>(node->tower() - word)) link;
    node->set_height(height);
    traits::construct(a, std::addressof(node->element), std::forward<Arguments>(arguments)...);
    owned.memory = nullptr;
    return node;
  }

  // Memory from the allocator, in units.
  static constexpr std::size_t units_of(std::size_t bytes) {
    return (bytes + sizeof(unit) - 1) / sizeof(unit);
  }
  static unit* allocate_units(allocator& a, std::size_t n) {
    return std::addressof(*traits::allocate(a, n));
  }
  static void free_units(allocator& a, unit* memory, std::size_t n) {
    traits::deallocate(a, std::pointer_traits<typename traits::pointer>::pointer_to(*memory), n);
  }

  // Destroys a node that is in no list.
  static void destroy(allocator& a, ordered_node* node) { destroy(a, node, node->height()); }
  static void destroy(Allocator& elements, ordered_node* node, std::nullptr_t = nullptr) {
    allocator a(elements);
    destroy(a, node);
  }
  // Destroys a node whose tower has the given height.
  static void destroy(allocator& a, ordered_node* node, int height) {
    traits::destroy(a, std::addressof(node->element));
    free_units(a, reinterpret_cast<unit*>(node) - units_of_tower(height), units(height));
  }

  // The height of the tower, while the node is in no list.
  int height() { return static_cast<int>(reinterpret_cast<std::uintptr_t>(list::next(tower()))); }
  void set_height(int height) {
    // relaxed: no other thread uses the node now
    (tower() - 1)->bits.store(static_cast<std::uintptr_t>(height), std::memory_order_relaxed);
  }

 private:
  ordered_node() {}
  ~ordered_node() {}

  static std::size_t units_of_tower(int height) {
    return units_of(static_cast<std::size_t>(list::words_of(height)) * sizeof(link));
  }
  static std::size_t units(int height) {
    return units_of_tower(height) + units_of(sizeof(ordered_node));
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ORDERED_NODE_HPP
