// SPDX-License-Identifier: Apache-2.0
#include "os/original.hpp"

#include <string.h>

namespace corbel::os {
namespace {

struct Original {
  void (*free)(void*);
  // Of an aligned block it takes the alignment and an offset, too.
  void (*size_of)();
};

std::size_t size_of(const Original& original, void* block, std::size_t alignment) {
  if (alignment == 0) return reinterpret_cast<std::size_t (*)(void*)>(original.size_of)(block);
  return reinterpret_cast<std::size_t (*)(void*, std::size_t, std::size_t)>(original.size_of)(
      block, alignment, 0);
}

}  // namespace

void* reallocate_original(void* block, std::size_t size, std::size_t alignment, void* original,
                          void* (*allocate)(std::size_t, std::size_t)) {
  const auto& functions = *static_cast<const Original*>(original);
  void* moved = nullptr;
  if (size != 0) {
    if (functions.size_of == nullptr) return nullptr;
    const std::size_t before = size_of(functions, block, alignment);
    if (before == ~std::size_t(0)) return nullptr;  // it is no block
    moved = allocate(size, alignment);
    if (moved == nullptr) return nullptr;
    memcpy(moved, block, before < size ? before : size);
  }
  if (functions.free != nullptr) functions.free(block);
  return moved;
}

}  // namespace corbel::os
