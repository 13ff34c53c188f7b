// SPDX-License-Identifier: Apache-2.0
// An allocator for containers (C++11 upwards) that takes its memory from scalable_malloc.
#ifndef CORBEL_SCALABLE_ALLOCATOR_HPP
#define CORBEL_SCALABLE_ALLOCATOR_HPP

#include <cstddef>
#include <type_traits>

#include <corbel/detail/allocate.hpp>

namespace corbel {

// Meets the Allocator requirements ([allocator.requirements]) and has the members of the TBB class
// of this name. All functions may be called from any thread.
template <typename T>
class scalable_allocator {
 public:
  using value_type = T;
  using pointer = T*;
  using const_pointer = const T*;
  using reference = T&;
  using const_reference = const T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;
  template <typename U>
  struct rebind {
    using other = scalable_allocator<U>;
  };

  scalable_allocator() noexcept = default;
  template <typename U>
  scalable_allocator(const scalable_allocator<U>&) noexcept {}

  // Memory for n objects, not constructed, aligned for T even where alignof(T) > 16. n == 0 gives a
  // unique pointer. When memory is exhausted the new-handler is called as by operator new; then
  // throws std::bad_alloc.
  T* allocate(std::size_t n) { return detail::allocate_objects<T>(n, alignof(T)); }

  // Frees what allocate of any scalable_allocator gave; the count is not needed. nullptr is
  // ignored.
  void deallocate(T* p, std::size_t) noexcept { scalable_free(p); }

  // The largest n that allocate does not refuse at once.
  std::size_t max_size() const noexcept { return detail::max_count<T>(); }
};

// The allocator that no object type is bound to yet: only to be rebound.
template <>
class scalable_allocator<void> {
 public:
  using value_type = void;
  using pointer = void*;
  using const_pointer = const void*;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;
  template <typename U>
  struct rebind {
    using other = scalable_allocator<U>;
  };

  scalable_allocator() noexcept = default;
  template <typename U>
  scalable_allocator(const scalable_allocator<U>&) noexcept {}
};

// All of them are equal: what one allocates, any other frees.
template <typename T, typename U>
inline bool operator==(const scalable_allocator<T>&, const scalable_allocator<U>&) noexcept {
  return true;
}
template <typename T, typename U>
inline bool operator!=(const scalable_allocator<T>&, const scalable_allocator<U>&) noexcept {
  return false;
}

}  // namespace corbel

#endif  // CORBEL_SCALABLE_ALLOCATOR_HPP
