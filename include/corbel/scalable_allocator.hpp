// SPDX-License-Identifier: Apache-2.0
// An allocator for containers (C++11 upwards) that takes its memory from scalable_malloc.
#ifndef CORBEL_SCALABLE_ALLOCATOR_HPP
#define CORBEL_SCALABLE_ALLOCATOR_HPP

#include <cstddef>

#include <corbel/detail/allocate.hpp>
#include <corbel/detail/basic_allocator.hpp>

namespace corbel {

// Meets the Allocator requirements ([allocator.requirements]) and has the members of the TBB class
// of this name. All of them are equal: what one allocates, any other frees. All functions may be
// called from any thread.
template <typename T>
class scalable_allocator : public detail::stateless_allocator<scalable_allocator, T> {
 public:
  scalable_allocator() noexcept = default;
  template <typename U>
  scalable_allocator(const scalable_allocator<U>&) noexcept {}

  // Memory for n objects, not constructed, aligned for T even where alignof(T) > 16. n == 0 gives a
  // unique pointer. When memory is exhausted the new-handler is called as by operator new; then
  // throws std::bad_alloc.
  T* allocate(std::size_t n) {
    return detail::allocate_objects<T>(detail::scalable_allocate, n, alignof(T));
  }

  // Frees what allocate of any scalable_allocator gave; the count is not needed. nullptr is
  // ignored.
  void deallocate(T* p, std::size_t) noexcept { scalable_free(p); }
};

// The allocator that no object type is bound to yet: only to be rebound.
template <>
class scalable_allocator<void> : public detail::stateless_allocator<scalable_allocator, void> {
 public:
  scalable_allocator() noexcept = default;
  template <typename U>
  scalable_allocator(const scalable_allocator<U>&) noexcept {}
};

}  // namespace corbel

#endif  // CORBEL_SCALABLE_ALLOCATOR_HPP
