// SPDX-License-Identifier: Apache-2.0
// The common part of the allocators for containers: member types, rebinding, comparison. Not for
// programs to include.
#ifndef CORBEL_DETAIL_BASIC_ALLOCATOR_HPP
#define CORBEL_DETAIL_BASIC_ALLOCATOR_HPP

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/allocate.hpp>

namespace corbel {
namespace detail {

// The part of an allocator that depends only on T.
template <typename T>
class basic_allocator {
 public:
  using value_type = T;
  using pointer = T*;
  using const_pointer = const T*;
  using reference = T&;
  using const_reference = const T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  // Returns the largest n that allocate accepts.
  std::size_t max_size() const noexcept { return max_count<T>(); }

  // Returns the address of `x`, even if its type overloads the operator &.
  template <typename U>
  U* address(U& x) const noexcept {
    return std::addressof(x);
  }

  // Constructs an object at `p` from the arguments. Throws what its constructor throws.
  template <typename U, typename... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  // Destroys the object at `p`.
  template <typename U>
  void destroy(U* p) {
    p->~U();
  }
};

// For an allocator without an object type.
template <>
class basic_allocator<void> {
 public:
  using value_type = void;
  using pointer = void*;
  using const_pointer = const void*;
};

// The base of Self<T>, a stateless allocator of process-wide memory.
template <template <typename> class Self, typename T>
class stateless_allocator : public basic_allocator<T> {
 public:
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;
  template <typename U>
  struct rebind {
    using other = Self<U>;
  };
};

// All objects of one Self are equal: any of them frees what another allocated. Objects of different
// Selfs do not compare.
template <template <typename> class Self, typename T, typename U>
inline bool operator==(const stateless_allocator<Self, T>&,
                       const stateless_allocator<Self, U>&) noexcept {
  return true;
}
template <template <typename> class Self, typename T, typename U>
inline bool operator!=(const stateless_allocator<Self, T>&,
                       const stateless_allocator<Self, U>&) noexcept {
  return false;
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_BASIC_ALLOCATOR_HPP
