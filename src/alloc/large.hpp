// SPDX-License-Identifier: Apache-2.0
// Large blocks: more than kMediumMax bytes, or aligned to more than a slab can promise. Each has a
// span of its own.
#pragma once

#include <cstddef>

#include "alloc/span.hpp"
#include "arch/arch.hpp"

namespace corbel::alloc {

// More than this the address space cannot hold.
inline constexpr std::size_t kLargestBlock = std::size_t(1) << arch::kAddressBits;

// `size` and `alignment`, a power of two, are at most kLargestBlock. `zeroed` is set if all of the
// block reads as zeros. nullptr when the system has no more.
void* allocate_large(std::size_t size, std::size_t alignment, bool* zeroed);

// Ends the process if `block` is not the start of the block in `span`.
void free_large(Span* span, void* block);

// Makes the block larger or smaller in place; false if it cannot.
bool resize_large(Span* span, std::size_t size);

// Moves the content of one large block to another. False if the new block was lost over it; the old
// one reads as before then. In either case the old one is still to be freed.
bool move_large(Span* from, Span* to);

std::size_t large_size(const Span* span);

}  // namespace corbel::alloc
