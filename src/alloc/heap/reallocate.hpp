// SPDX-License-Identifier: Apache-2.0
// realloc, and queries about a block.
#pragma once

#include <cstddef>

#include "alloc/map/private_api.hpp"

namespace corbel::alloc {

// realloc: (nullptr, n) allocates; size 0 frees and returns nullptr. On failure the old block is
// unchanged. The result is aligned like that of allocate(), whatever the old block's alignment.
// Foreign blocks go to the foreign handler.
CORBEL_PRIVATE_API void* reallocate(void* block, std::size_t size) noexcept;

// Like reallocate(), with the result aligned to `alignment`, a power of two.
CORBEL_PRIVATE_API void* reallocate_aligned(void* block, std::size_t size,
                                            std::size_t alignment) noexcept;

// The bytes that the caller may use in `block`; 0 for nullptr. For a foreign pointer, the answer of
// the foreign handler, or 0.
CORBEL_PRIVATE_API std::size_t usable_size(const void* block) noexcept;

// Whether `block` is the start of a block that may be allocated. `block` may be any value.
CORBEL_PRIVATE_API bool is_block(const void* block) noexcept;

// Whether `block` points into memory this allocator hands out.
CORBEL_PRIVATE_API bool owns(const void* block) noexcept;

}  // namespace corbel::alloc
