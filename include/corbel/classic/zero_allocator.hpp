// SPDX-License-Identifier: Apache-2.0
// An allocator for containers whose memory is zero. C++11 and later. Follows TBB 2020
// (zero_allocator).
#ifndef CORBEL_CLASSIC_ZERO_ALLOCATOR_HPP
#define CORBEL_CLASSIC_ZERO_ALLOCATOR_HPP

#include <cstddef>
#include <cstring>

#include <corbel/tbb_allocator.hpp>

namespace corbel {

// Takes its memory from Allocator<T>, sets it to zero, and is else like that allocator, in thread
// safety too. Containers still construct their elements.
template <typename T, template <typename> class Allocator = tbb_allocator>
class zero_allocator : public Allocator<T> {
 public:
  using value_type = T;
  template <typename U>
  struct rebind {
    using other = zero_allocator<U, Allocator>;
  };

  zero_allocator() = default;
  template <typename U>
  zero_allocator(const zero_allocator<U, Allocator>& other) noexcept
      : Allocator<T>(static_cast<const Allocator<U>&>(other)) {}

  // Returns zeroed memory for n objects, not constructed. Ignores the hint. Throws what
  // Allocator<T>::allocate throws.
  T* allocate(std::size_t n, const void* = nullptr) {
    T* const memory = Allocator<T>::allocate(n);
    std::memset(static_cast<void*>(memory), 0, n * sizeof(T));
    return memory;
  }
};

// The form for void: cannot allocate, only be rebound to an object type.
template <template <typename> class Allocator>
class zero_allocator<void, Allocator> : public Allocator<void> {
 public:
  using value_type = void;
  template <typename U>
  struct rebind {
    using other = zero_allocator<U, Allocator>;
  };
};

// Two are equal if the allocators they take their memory from are.
template <typename T, template <typename> class A, typename U, template <typename> class B>
inline bool operator==(const zero_allocator<T, A>& a, const zero_allocator<U, B>& b) {
  return static_cast<const A<T>&>(a) == static_cast<const B<U>&>(b);
}
template <typename T, template <typename> class A, typename U, template <typename> class B>
inline bool operator!=(const zero_allocator<T, A>& a, const zero_allocator<U, B>& b) {
  return !(a == b);
}

}  // namespace corbel

#endif  // CORBEL_CLASSIC_ZERO_ALLOCATOR_HPP
