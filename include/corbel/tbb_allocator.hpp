// SPDX-License-Identifier: Apache-2.0
// The allocator of the TBB API that says what it is served by. Here that is always the scalable
// allocator: there is no second library that could be missing.
#ifndef CORBEL_TBB_ALLOCATOR_HPP
#define CORBEL_TBB_ALLOCATOR_HPP

#include <cstddef>
#include <type_traits>

#include <corbel/detail/allocate.hpp>

namespace corbel {

// Meets the Allocator requirements ([allocator.requirements]) and has the members of the TBB class
// of this name. All functions may be called from any thread.
template <typename T>
class tbb_allocator {
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
    using other = tbb_allocator<U>;
  };

  enum malloc_type { scalable, standard };

  // What serves this allocator: scalable.
  static malloc_type allocator_type() noexcept { return scalable; }

  tbb_allocator() noexcept = default;
  template <typename U>
  tbb_allocator(const tbb_allocator<U>&) noexcept {}

  // Memory for n objects, not constructed, aligned for T even where alignof(T) > 16. n == 0 gives a
  // unique pointer. When memory is exhausted the new-handler is called as by operator new; then
  // throws std::bad_alloc.
  T* allocate(std::size_t n) { return detail::allocate_objects<T>(n, alignof(T)); }

  // Frees what allocate of any tbb_allocator gave; the count is not needed. nullptr is ignored.
  void deallocate(T* p, std::size_t) noexcept { scalable_free(p); }

  // The largest n that allocate does not refuse at once.
  std::size_t max_size() const noexcept { return detail::max_count<T>(); }
};

// The allocator that no object type is bound to yet: only to be rebound.
template <>
class tbb_allocator<void> {
 public:
  using value_type = void;
  using pointer = void*;
  using const_pointer = const void*;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;
  template <typename U>
  struct rebind {
    using other = tbb_allocator<U>;
  };

  enum malloc_type { scalable, standard };

  // What serves this allocator: scalable.
  static malloc_type allocator_type() noexcept { return scalable; }

  tbb_allocator() noexcept = default;
  template <typename U>
  tbb_allocator(const tbb_allocator<U>&) noexcept {}
};

// All of them are equal: what one allocates, any other frees.
template <typename T, typename U>
inline bool operator==(const tbb_allocator<T>&, const tbb_allocator<U>&) noexcept {
  return true;
}
template <typename T, typename U>
inline bool operator!=(const tbb_allocator<T>&, const tbb_allocator<U>&) noexcept {
  return false;
}

}  // namespace corbel

#endif  // CORBEL_TBB_ALLOCATOR_HPP
