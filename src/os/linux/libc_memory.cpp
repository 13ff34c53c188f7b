// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "os/os.hpp"

namespace corbel::os {

void* libc_allocate(std::size_t size, std::size_t alignment) {
  void* block = nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return posix_memalign(&block, alignment, size == 0 ? 1 : size) == 0 ? block : nullptr;
}

void libc_free(void* block) { std::free(block); }

}  // namespace corbel::os
