// SPDX-License-Identifier: Apache-2.0
// Pointers that this allocator has not handed out.
#pragma once

#include <cstddef>

namespace corbel::alloc {

// Each asks the handler set by set_foreign_handlers(); without one, free and realloc end the
// process with one line and the size is 0.
void free_foreign(void* block);
void* reallocate_foreign(void* block, std::size_t size);
std::size_t foreign_size(const void* block);

}  // namespace corbel::alloc
