// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): what TBB's own malloc proxy hands to the
// allocator with a block that another one handed out.
#pragma once

#include <cstddef>

namespace corbel::os {

// Reallocates such a block to `size` bytes. `original` is on Linux the other allocator's
// void* (*)(void*, size_t), and there is none for an aligned block; on Windows it is two pointers,
// to its function that frees and to that which tells a block's size, and the content moves to what
// `allocate(size, alignment)` returns. `alignment` is 0 for a block of malloc. Returns nullptr, and
// the block is unchanged, if there is no memory or no function; also for size 0, where Windows
// frees the block. Requires: `block` and `original` are not nullptr.
void* reallocate_original(void* block, std::size_t size, std::size_t alignment, void* original,
                          void* (*allocate)(std::size_t size, std::size_t alignment));

}  // namespace corbel::os
