// SPDX-License-Identifier: Apache-2.0
// Memory for the headers' containers. In a file of its own: the scheduler's library defines these
// two functions too, and a program that links both static libraries takes one definition.
#include <corbel/malloc.h>

#include <algorithm>

#include "alloc/heap/fast_path.hpp"
#include "base/bits.hpp"

using namespace corbel;

extern "C" {

void* corbel_allocate(size_t size, size_t alignment) noexcept {
  const size_t natural = size <= 8 ? 8 : 16;
  if (is_power_of_two(alignment) && alignment <= natural) return scalable_malloc(size);
  return scalable_aligned_malloc(std::max(size, size_t(1)), alignment);
}

void corbel_deallocate(void* ptr) noexcept { alloc::deallocate_fast(ptr); }

}  // extern "C"
