// SPDX-License-Identifier: Apache-2.0
// An allocator for containers that reports where its memory comes from. C++11 and later. Follows
// the oneTBB specification 1.4 (tbb_allocator). Here it always reports the scalable allocator,
// although a program that links libcorbel without libcorbelmalloc gets memory from the C library.
#ifndef CORBEL_TBB_ALLOCATOR_HPP
#define CORBEL_TBB_ALLOCATOR_HPP

#include <cstddef>

#include <corbel/detail/allocate.hpp>
#include <corbel/detail/basic_allocator.hpp>

namespace corbel {

// Meets the Allocator requirements ([allocator.requirements]) and has the members of the TBB class
// of the same name. All objects are equal: any of them frees what another allocated. Any thread may
// call any function.
template <typename T>
class tbb_allocator : public detail::stateless_allocator<tbb_allocator, T> {
 public:
  enum malloc_type { scalable, standard };

  // What serves this allocator: scalable.
  static malloc_type allocator_type() noexcept { return scalable; }

  tbb_allocator() noexcept = default;
  template <typename U>
  tbb_allocator(const tbb_allocator<U>&) noexcept {}

  // Returns memory for n objects, not constructed, aligned for T even if alignof(T) > 16. n == 0
  // returns a unique pointer. Ignores the hint. If memory is exhausted, calls the new-handler as
  // operator new does; then throws std::bad_alloc.
  T* allocate(std::size_t n, const void* = nullptr) {
    return detail::allocate_objects<T>(corbel_allocate, n, alignof(T));
  }

  // Frees memory that allocate of any tbb_allocator returned. Ignores the count, and nullptr.
  void deallocate(T* p, std::size_t) noexcept { corbel_deallocate(p); }
};

// The form for void: cannot allocate, only be rebound to an object type.
template <>
class tbb_allocator<void> : public detail::stateless_allocator<tbb_allocator, void> {
 public:
  enum malloc_type { scalable, standard };

  // What serves this allocator: scalable.
  static malloc_type allocator_type() noexcept { return scalable; }

  tbb_allocator() noexcept = default;
  template <typename U>
  tbb_allocator(const tbb_allocator<U>&) noexcept {}
};

}  // namespace corbel

#endif  // CORBEL_TBB_ALLOCATOR_HPP
