// SPDX-License-Identifier: Apache-2.0
// The end of a process that has corrupted its heap.
#pragma once

#include "alloc/map/private_api.hpp"

namespace corbel::alloc {

// Ends the process with one line on stderr: "corbel: <function>: <what> (block 0x...)".
[[noreturn]] CORBEL_PRIVATE_API void die(const char* function, const char* what,
                                         const void* block) noexcept;

}  // namespace corbel::alloc
