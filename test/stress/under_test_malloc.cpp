// SPDX-License-Identifier: Apache-2.0
// The stress test on the process's malloc: Corbel's if its proxy is preloaded or linked; otherwise
// the C library's, which shows that the test passes on a correct allocator.
#include <malloc.h>

#include <cstdlib>

#include "under_test.hpp"

namespace corbel::stress {

AllocatorUnderTest allocator_under_test() {
  AllocatorUnderTest functions{};
  functions.name = "malloc";
  functions.allocate = std::malloc;
  functions.allocate_zeroed = std::calloc;
  functions.reallocate = std::realloc;
  functions.allocate_aligned = [](std::size_t size, std::size_t alignment) {
    return memalign(alignment, size);
  };
  functions.deallocate = std::free;
  functions.usable_size = malloc_usable_size;
  functions.trim = [] { malloc_trim(0); };
  return functions;
}

}  // namespace corbel::stress
