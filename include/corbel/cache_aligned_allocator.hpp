// SPDX-License-Identifier: Apache-2.0
// An allocator for containers whose blocks each start on a new cache line, which avoids false
// sharing between blocks. C++11 and later. Follows the oneTBB specification 1.4
// (cache_aligned_allocator).
#ifndef CORBEL_CACHE_ALIGNED_ALLOCATOR_HPP
#define CORBEL_CACHE_ALIGNED_ALLOCATOR_HPP

#include <cstddef>

#include <corbel/detail/allocate.hpp>
#include <corbel/detail/basic_allocator.hpp>

namespace corbel {

// Meets the Allocator requirements ([allocator.requirements]) and has the members of the TBB class
// of the same name. All objects are equal: any of them frees what another allocated. Any thread may
// call any function.
template <typename T>
class cache_aligned_allocator : public detail::stateless_allocator<cache_aligned_allocator, T> {
 public:
  cache_aligned_allocator() noexcept = default;
  template <typename U>
  cache_aligned_allocator(const cache_aligned_allocator<U>&) noexcept {}

  // Returns memory for n objects, not constructed, aligned to the larger of a cache line and
  // alignof(T). n == 0 returns a unique pointer. Ignores the hint. If memory is exhausted, calls
  // the new-handler as operator new does; then throws std::bad_alloc.
  T* allocate(std::size_t n, const void* = nullptr) {
    return detail::allocate_objects<T>(corbel_allocate, n, detail::kCacheLine);
  }

  // Frees memory that allocate of any cache_aligned_allocator returned. Ignores the count, and
  // nullptr.
  void deallocate(T* p, std::size_t) noexcept { corbel_deallocate(p); }
};

// The form for void: cannot allocate, only be rebound to an object type.
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
