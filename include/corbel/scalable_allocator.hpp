// SPDX-License-Identifier: Apache-2.0
// An allocator for containers that takes its memory from scalable_malloc. C++11 and later. Follows
// the oneTBB specification 1.4 (scalable_allocator).
#ifndef CORBEL_SCALABLE_ALLOCATOR_HPP
#define CORBEL_SCALABLE_ALLOCATOR_HPP

#include <cstddef>

#include <corbel/detail/allocate.hpp>
#include <corbel/detail/basic_allocator.hpp>

namespace corbel {

// Meets the Allocator requirements ([allocator.requirements]) and has the members of the TBB class
// of the same name. All objects are equal: any of them frees what another allocated. Any thread may
// call any function.
template <typename T>
class scalable_allocator : public detail::stateless_allocator<scalable_allocator, T> {
 public:
  scalable_allocator() noexcept = default;
  template <typename U>
  scalable_allocator(const scalable_allocator<U>&) noexcept {}

  // Returns memory for n objects, not constructed, aligned for T even if alignof(T) > 16. n == 0
  // returns a unique pointer. Ignores the hint. If memory is exhausted, calls the new-handler as
  // operator new does; then throws std::bad_alloc.
  T* allocate(std::size_t n, const void* = nullptr) {
    return detail::allocate_objects<T>(detail::scalable_allocate, n, alignof(T));
  }

  // Frees memory that allocate of any scalable_allocator returned. Ignores the count, and nullptr.
  void deallocate(T* p, std::size_t) noexcept { scalable_free(p); }
};

// The form for void: cannot allocate, only be rebound to an object type.
template <>
class scalable_allocator<void> : public detail::stateless_allocator<scalable_allocator, void> {
 public:
  scalable_allocator() noexcept = default;
  template <typename U>
  scalable_allocator(const scalable_allocator<U>&) noexcept {}
};

}  // namespace corbel

#endif  // CORBEL_SCALABLE_ALLOCATOR_HPP
