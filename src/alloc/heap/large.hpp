// SPDX-License-Identifier: Apache-2.0
// Large blocks: more than kMediumMax bytes, or with an alignment that no size class has. Each has a
// span of its own.
//
// A span has whole units, so a block of 130 KiB would be counted as 192. The pages after those
// requested are the block's tail (Span::tail): the program does not get to use them, and they are
// not counted. They are neither dirty nor resident, because the block's pages are dirty from the
// first one to the tail when it is freed.
#pragma once

#include <cstddef>

#include "alloc/map/policy_hooks.hpp"
#include "alloc/map/span.hpp"
#include "alloc/pages/span_heap.hpp"
#include "arch/arch.hpp"

namespace corbel::alloc {

// The address space cannot hold more.
inline constexpr std::size_t kMaxBlock = std::size_t(1) << arch::kAddressBits;

// The request for the span of a large block. Requires: `alignment` is a power of two, and both are
// at most kMaxBlock.
SpanRequest large_request(std::size_t size, std::size_t alignment);

// The bytes of a large block that the program may use.
inline std::size_t large_size(const Span* span) { return span->bytes() - span->tail; }

// Allocates the span of a large block, which begins at the span's start and has no tail yet.
// Span::zeroed says whether it reads as zeros. nullptr when memory is exhausted.
Span* allocate_large(SpanRequest& request, LimitCalls& calls);

// A large block that reads as zeros, on a mapping of its own and without a look at what locks
// protect. It is not counted. nullptr when memory is exhausted.
Span* map_large_alone(std::size_t size, std::size_t alignment);

// Gives the pages after the first `size` bytes of a new block to the tail, as far as no page from
// there to the end may be resident. Then does what trim_tail() does.
void set_tail(Span* span, std::size_t size);

// If a limit is near, and the pages after the first `size` bytes are more than a sixteenth of the
// block, gives them back and to the tail. Otherwise a system call, and the faults when the pages
// are used again, would cost more than the memory is worth.
void trim_tail(Span* span, std::size_t size);

// Frees a large block. Ends the process if `block` is not the start of `span`.
void free_large(Span* span, void* block);

// Makes the block larger or smaller in place. On failure returns false: `shortage` is the number of
// bytes that did not fit under a limit, or 0 if there was another reason.
bool resize_large(Span* span, std::size_t size, std::size_t* shortage);

// How many bytes to move by their pages when the block in `from` moves to a span of `units` units
// (SpanRequest::moving_in). These need no room, because their pages are counted already. 0 if
// copying is better. Neither block may have a tail then.
std::size_t bytes_moving(const Span* from, std::size_t units);

// Counts the tail, so that the block has none. False if a limit leaves no room. uncount_tail()
// undoes it; `bytes` is the former tail, whose pages were not touched meanwhile.
bool count_tail(Span* span);
void uncount_tail(Span* span, std::size_t bytes);

// Moves the content of one large block to another and frees the first. `taken_over` is
// SpanRequest::taken_over of the target. Returns false if the pages cannot be moved and a limit
// leaves no room for a copy, or if the system has lost the target: then the source is unchanged and
// the target is freed.
// Adds the bytes that it has copied, and not moved, to `copied`.
bool move_large(Span* from, Span* to, std::size_t taken_over, std::size_t* copied);

// Like move_large(), but always copies. Requires: all bytes of the target but its tail are counted.
void copy_large(Span* from, Span* to, std::size_t* copied);

}  // namespace corbel::alloc
