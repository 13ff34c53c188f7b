// SPDX-License-Identifier: Apache-2.0
// What the allocators for containers have in common: member types, rebinding, comparison. Not for
// programs to include.
#ifndef CORBEL_DETAIL_BASIC_ALLOCATOR_HPP
#define CORBEL_DETAIL_BASIC_ALLOCATOR_HPP

#include <cstddef>
#include <type_traits>

#include <corbel/detail/allocate.hpp>

namespace corbel {
namespace detail {

// What T alone determines of an allocator.
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

  // The largest n that allocate does not refuse at once.
  std::size_t max_size() const noexcept { return max_count<T>(); }
};

// Of the allocator that no object type is bound to yet.
template <>
class basic_allocator<void> {
 public:
  using value_type = void;
  using pointer = void*;
  using const_pointer = const void*;
};

// The base of Self<T>, an allocator without state over the one heap of the process.
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

// All of one Self are equal: what one allocates, any other frees. Those of two Selfs do not
// compare.
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
