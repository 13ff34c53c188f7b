// SPDX-License-Identifier: Apache-2.0
// Foreign pointers: blocks that another allocator handed out, before this one was active or from a
// heap of its own, and addresses that are no blocks (on the stack, in a library's data, unmapped).
// If an owner is likely, the pointer is forwarded to it. Otherwise the process ends with a message
// of one line that says where the address lies.
#pragma once

#include <cstddef>

#include "proxy/linux/proxy.hpp"

namespace corbel::proxy {

// Tells the allocator to call the functions below.
CORBEL_PROXY_HIDDEN void install_foreign_handlers() noexcept;

// Frees a foreign block. Leaves errno unchanged.
CORBEL_PROXY_HIDDEN void foreign_free(void* block) noexcept;

// Moves the content into a new block of ours and frees the foreign one. Returns nullptr on failure:
// then the old block is unchanged. A `size` of 0 frees the block and returns nullptr.
CORBEL_PROXY_HIDDEN void* foreign_realloc(void* block, std::size_t size) noexcept;

// The usable size of a foreign block, in bytes; 0 when no owner tells.
CORBEL_PROXY_HIDDEN std::size_t foreign_usable_size(void* block) noexcept;

}  // namespace corbel::proxy
