// SPDX-License-Identifier: Apache-2.0
#include "os/original.hpp"

namespace corbel::os {

void* reallocate_original(void* block, std::size_t size, std::size_t alignment, void* original,
                          void* (*)(std::size_t, std::size_t)) {
  if (alignment != 0) return nullptr;
  return reinterpret_cast<void* (*)(void*, std::size_t)>(original)(block, size);
}

}  // namespace corbel::os
