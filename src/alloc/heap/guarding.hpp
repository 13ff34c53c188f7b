// SPDX-License-Identifier: Apache-2.0
// Guarded blocks: where the heap meets src/alloc/guard, which defines these functions. Such a block
// lies in the guard pool, each unit of which has the tag kGuarded, so that no fast path takes it.
// The functions end the process with a report if `block` is no live block.
#pragma once

#include <cstddef>

#include "alloc/heap/call_kind.hpp"

namespace corbel::alloc {

// Frees the block, after a check of what lies around it.
void free_guarded(void* block, const Release& release);

// The size of the block, as requested. `function` is the one that the program called.
std::size_t guarded_size(const char* function, const void* block);

// Whether a live block begins there.
bool is_guarded_block(const void* block);

// The bytes of the pages that guarded blocks lie in.
std::size_t guarded_bytes();

}  // namespace corbel::alloc
