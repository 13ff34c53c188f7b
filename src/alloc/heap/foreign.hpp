// SPDX-License-Identifier: Apache-2.0
// Pointers that this allocator has not handed out.
#pragma once

#include <cstddef>

#include "alloc/map/private_api.hpp"

namespace corbel::alloc {

// What to do with pointers that another allocator made. `usable_size` returns 0 when it cannot say.
// The functions may end the process, but must say why in one line.
struct ForeignHandlers {
  void (*free)(void*);
  void* (*realloc)(void*, std::size_t);
  std::size_t (*usable_size)(void*);
};
CORBEL_PRIVATE_API void set_foreign_handlers(const ForeignHandlers* handlers) noexcept;

// Call the handlers. If none are set, free_foreign() and reallocate_foreign() end the process with
// one line, and foreign_size() returns 0.
void free_foreign(void* block);
void* reallocate_foreign(void* block, std::size_t size);
std::size_t foreign_size(const void* block);

}  // namespace corbel::alloc
