// SPDX-License-Identifier: Apache-2.0
// Large blocks: more than kMediumMax bytes, or aligned to more than a slab can promise. Each has a
// span of its own.
#pragma once

#include <cstddef>

#include "alloc/heap_limit.hpp"
#include "alloc/span.hpp"
#include "alloc/span_heap.hpp"
#include "arch/arch.hpp"

namespace corbel::alloc {

// More than this the address space cannot hold.
inline constexpr std::size_t kLargestBlock = std::size_t(1) << arch::kAddressBits;

// `size` and `alignment`, a power of two, are at most kLargestBlock.
SpanRequest large_request(std::size_t size, std::size_t alignment);

// The block is all of the span, which says whether it reads as zeros. nullptr when memory is
// exhausted.
Span* allocate_large(SpanRequest& request, LimitCalls& calls);

// Ends the process if `block` is not the start of the block in `span`.
void free_large(Span* span, void* block);

// Makes the block larger or smaller in place; false if it cannot, with `shortage` set if it was for
// want of room to commit so many bytes.
bool resize_large(Span* span, std::size_t size, std::size_t* shortage);

// The bytes that should move with their pages, and so need no room, when the block in `from` is
// moved to one of `units` units (SpanRequest::moving_in); 0 where copying is better.
std::size_t bytes_moving(const Span* from, std::size_t units);

// Moves the content of one large block to another, of which `taken_over` bytes were counted as
// moving in, and frees the first. False where the pages do not move and a copy has no room beside
// them, or the new block was lost over it: the old one is as before then, and there is no new one.
bool move_large(Span* from, Span* to, std::size_t taken_over);

// The same by copying, to a block that counts as a whole.
void copy_large(Span* from, Span* to);

}  // namespace corbel::alloc
