// SPDX-License-Identifier: Apache-2.0
// malloc, calloc and aligned_alloc.
#pragma once

#include <errno.h>

#include <cstddef>

#include "alloc/heap/call_kind.hpp"
#include "alloc/map/private_api.hpp"
#include "os/errno.hpp"

namespace corbel::alloc {

// Alignment of every block larger than eight bytes: alignof(max_align_t) on the supported ABIs.
inline constexpr std::size_t kMinAlignment = 16;

// Returns a block of at least `size` bytes, aligned to 16, or to 8 if size <= 8. Size 0 gives a
// block with an address of its own. nullptr with errno ENOMEM when memory is exhausted or size >
// PTRDIFF_MAX.
CORBEL_PRIVATE_API void* allocate(std::size_t size) noexcept;

// `count * size` bytes, all zero; nullptr with ENOMEM on overflow too.
CORBEL_PRIVATE_API void* allocate_zeroed(std::size_t count, std::size_t size) noexcept;

// Returns a block aligned to `alignment`, or nullptr with errno ENOMEM. Requires: `alignment` is a
// power of two. There is no upper limit but the address space.
CORBEL_PRIVATE_API void* allocate_aligned(std::size_t size, std::size_t alignment,
                                          Origin origin = Origin::kMalloc) noexcept;

// Like allocate_aligned(), for a block that the caller can do without: at the hard limit the
// program's callback is not called and no refusal is counted. Leaves errno unchanged.
void* allocate_if_room(std::size_t size, std::size_t alignment);

// Like allocate_aligned(), but gives the block a span of its own, however small it is. Sets
// `zeroed` to whether it reads as zeros.
void* allocate_span_block(std::size_t size, std::size_t alignment, bool* zeroed);

inline void* out_of_memory() {
  os::set_errno(ENOMEM);
  return nullptr;
}

}  // namespace corbel::alloc
