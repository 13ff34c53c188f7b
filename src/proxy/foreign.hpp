// SPDX-License-Identifier: Apache-2.0
// Pointers that another allocator made: before this one was active, in a heap of its own, or never
// (an address on the stack, in a library's data, or nowhere). They go back to their owner if one
// is likely, else the process ends with one line that says where the address lies.
#pragma once

#include <cstddef>

#include "proxy/proxy.hpp"

namespace corbel::proxy {

// Tells the allocator to call the functions below.
CORBEL_PROXY_HIDDEN void install_foreign_handlers() noexcept;

CORBEL_PROXY_HIDDEN void foreign_free(void* block) noexcept;

// Moves the content into a block of ours and gives the old one back to its owner. On failure the
// old block is untouched.
CORBEL_PROXY_HIDDEN void* foreign_realloc(void* block, std::size_t size) noexcept;

// 0 when no owner can say.
CORBEL_PROXY_HIDDEN std::size_t foreign_usable_size(void* block) noexcept;

}  // namespace corbel::proxy
