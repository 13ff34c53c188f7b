// SPDX-License-Identifier: Apache-2.0
// The allocator of the TBB API that says what it is served by: the scalable allocator, always. (In
// a program that has libcorbel and not libcorbelmalloc the memory is the C library's all the same.)
#ifndef CORBEL_TBB_ALLOCATOR_HPP
#define CORBEL_TBB_ALLOCATOR_HPP

#include <cstddef>

#include <corbel/detail/allocate.hpp>
#include <corbel/detail/basic_allocator.hpp>

namespace corbel {

// Meets the Allocator requirements ([allocator.requirements]) and has the members of the TBB class
// of this name. All of them are equal: what one allocates, any other frees. All functions may be
// called from any thread.
template <typename T>
class tbb_allocator : public detail::stateless_allocator<tbb_allocator, T> {
 public:
  enum malloc_type { scalable, standard };

  // What serves this allocator: scalable.
  static malloc_type allocator_type() noexcept { return scalable; }

  tbb_allocator() noexcept = default;
  template <typename U>
  tbb_allocator(const tbb_allocator<U>&) noexcept {}

  // Memory for n objects, not constructed, aligned for T even where alignof(T) > 16. n == 0 gives a
  // unique pointer. When memory is exhausted the new-handler is called as by operator new; then
  // throws std::bad_alloc.
  T* allocate(std::size_t n) { return detail::allocate_objects<T>(corbel_allocate, n, alignof(T)); }

  // Frees what allocate of any tbb_allocator gave; the count is not needed. nullptr is ignored.
  void deallocate(T* p, std::size_t) noexcept { corbel_deallocate(p); }
};

// The allocator that no object type is bound to yet: only to be rebound.
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
