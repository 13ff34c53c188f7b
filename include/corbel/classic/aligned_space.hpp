// SPDX-License-Identifier: Apache-2.0
// Uninitialized memory for objects. C++11 and later. Follows TBB 2020 (aligned_space).
#ifndef CORBEL_CLASSIC_ALIGNED_SPACE_HPP
#define CORBEL_CLASSIC_ALIGNED_SPACE_HPP

#include <cstddef>

namespace corbel {

// Memory for N objects of type T, aligned for T. Constructs and destroys no object.
template <typename T, std::size_t N = 1>
class aligned_space {
 public:
  // Return the addresses of the first object and past the last one. The program synchronizes access
  // to the objects.
  T* begin() const { return reinterpret_cast<T*>(const_cast<unsigned char*>(memory_)); }
  T* end() const { return begin() + N; }

 private:
  alignas(T) unsigned char memory_[N * sizeof(T)];
};

}  // namespace corbel

#endif  // CORBEL_CLASSIC_ALIGNED_SPACE_HPP
