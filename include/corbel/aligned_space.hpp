// SPDX-License-Identifier: Apache-2.0
// Memory for objects that are made later; a class of classic TBB. C++11 upwards.
#ifndef CORBEL_ALIGNED_SPACE_HPP
#define CORBEL_ALIGNED_SPACE_HPP

#include <cstddef>

namespace corbel {

// Room for N objects of type T, aligned for them, none of which is constructed or destroyed.
template <typename T, std::size_t N = 1>
class aligned_space {
 public:
  // The first of them, and what follows the last.
  T* begin() const { return reinterpret_cast<T*>(const_cast<unsigned char*>(memory_)); }
  T* end() const { return begin() + N; }

 private:
  alignas(T) unsigned char memory_[N * sizeof(T)];
};

}  // namespace corbel

#endif  // CORBEL_ALIGNED_SPACE_HPP
