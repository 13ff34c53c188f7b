// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include "os/os.hpp"

namespace corbel::os {

// The runtime's free() cannot free what is aligned, so all of it is.
void* libc_allocate(std::size_t size, std::size_t alignment) {
  return _aligned_malloc(size == 0 ? 1 : size, alignment);
}

void libc_free(void* block) { _aligned_free(block); }

}  // namespace corbel::os
