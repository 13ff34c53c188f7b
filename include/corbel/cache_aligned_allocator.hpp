// SPDX-License-Identifier: Apache-2.0
// An allocator for containers (C++11 upwards) whose blocks start on a cache line of their own, so
// that what two threads write never shares a line by accident of allocation.
#ifndef CORBEL_CACHE_ALIGNED_ALLOCATOR_HPP
#define CORBEL_CACHE_ALIGNED_ALLOCATOR_HPP

#include <cstddef>

#include <corbel/detail/allocate.hpp>
#include <corbel/detail/basic_allocator.hpp>

namespace corbel {

// Meets the Allocator requirements ([allocator.requirements]) and has the members of the TBB class
// of this name. All of them are equal: what one allocates, any other frees. All functions may be
// called from any thread.
template <typename T>
class cache_aligned_allocator : public detail::stateless_allocator<cache_aligned_allocator, T> {
 public:
  cache_aligned_allocator() noexcept = default;
  template <typename U>
  cache_aligned_allocator(const cache_aligned_allocator<U>&) noexcept {}

  // Memory for n objects, not constructed, aligned to the larger of the cache line and alignof(T).
  // n == 0 gives a unique pointer. When memory is exhausted the new-handler is called as by
  // operator new; then throws std::bad_alloc.
  T* allocate(std::size_t n) {
    return detail::allocate_objects<T>(corbel_allocate, n, detail::kCacheLine);
  }

  // Frees what allocate of any cache_aligned_allocator gave; the count is not needed. nullptr is
  // ignored.
  void deallocate(T* p, std::size_t) noexcept { corbel_deallocate(p); }
};

// The allocator that no object type is bound to yet: only to be rebound.
template <>
class cache_aligned_allocator<void>
    : public detail::stateless_allocator<cache_aligned_allocator, void> {
 public:
  cache_aligned_allocator() noexcept = default;
  template <typename U>
  cache_aligned_allocator(const cache_aligned_allocator<U>&) noexcept {}
};

}  // namespace corbel

#endif  // CORBEL_CACHE_ALIGNED_ALLOCATOR_HPP
