// SPDX-License-Identifier: Apache-2.0
// malloc, calloc and aligned_alloc below the inline path.
#include <string.h>

#include "alloc/allocate.hpp"
#include "alloc/fast_path.hpp"
#include "alloc/footprint.hpp"
#include "alloc/heap_limit.hpp"
#include "alloc/helper.hpp"
#include "alloc/large.hpp"
#include "alloc/reclaim.hpp"
#include "alloc/slab.hpp"
#include "alloc/thread.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// What the caller may conclude about the content of a new block.
enum class Content { kUnknown, kZeroButFirstWord, kZero };

Heap* attach_or_find_room(LimitCalls& calls) {
  Heap* heap = attach_heap();
  if (heap != nullptr) [[likely]]
    return heap;
  Relief relief(nullptr, calls);
  const std::size_t room = align_up(sizeof(Heap), os::page_size());
  do {
    heap = attach_heap();
  } while (heap == nullptr && relief.find(footprint.has_room(room) ? 0 : room));
  return heap;
}

void* allocate_from_bin(unsigned size_class, LimitCalls& calls, Content* content) {
  *content = Content::kUnknown;
  call_helper(MayStart::kYes);
  Heap* heap = attach_or_find_room(calls);
  if (heap == nullptr) return nullptr;
  SlowPath slow_path(heap);
  Bin* bin = &heap->bins[size_class];
  Relief relief(heap, calls);
  bool zeroed = false;
  std::size_t shortage = 0;
  Block* block;
  do {
    // Starting the helper, or the program's callback, may have allocated of this class.
    block = bin->list;
    if (block != nullptr) {
      bin->list = block->next;
      return block;
    }
    block = refill(heap, bin, &zeroed, &shortage);
  } while (block == nullptr && relief.find(shortage));
  if (zeroed) *content = bin->list == nullptr ? Content::kZero : Content::kZeroButFirstWord;
  return block;
}

void* allocate_span(std::size_t size, std::size_t alignment, LimitCalls& calls, Content* content) {
  // What no address space could hold is no reason to give up the caches.
  if (size > kLargestBlock || alignment > kLargestBlock) return nullptr;
  SpanRequest request = large_request(size, alignment);
  Span* span = allocate_large(request, calls);
  // The request itself may have made the helper worth its while.
  call_helper(MayStart::kYes);
  if (span == nullptr) return nullptr;
  *content = span->zeroed ? Content::kZero : Content::kUnknown;
  return span->start();
}

void* allocate_any(std::size_t size, Content* content) {
  LimitCalls calls;
  void* block = size <= kMediumMax ? allocate_from_bin(class_of(size), calls, content)
                                   : allocate_span(size, 1, calls, content);
  return block != nullptr ? block : out_of_memory();
}

void* aligned_block(std::size_t size, std::size_t alignment, LimitCalls& calls) {
  const unsigned size_class = aligned_class_of(size, alignment);
  Content content;
  return size_class < kClasses ? allocate_from_bin(size_class, calls, &content)
                               : allocate_span(size, alignment, calls, &content);
}

// A block of the bin's list, for sizes that the inline path leaves out, or of what most lists that
// have run out need: the blocks freed meanwhile of the slab that the bin takes from. Calls nobody,
// so that it is no slow path in the sense of sleepers.hpp. nullptr if something else is to be done
// first.
void* take_listed(std::size_t size) {
  Heap* const heap = heap_of_thread();
  Bin* const bin = &heap->bins[class_of(size)];
  if (Block* const block = bin->list) {
    bin->list = block->next;
    note_use(heap);
    return block;
  }
  if (bin->current == nullptr || bin->current->blocks.freed == nullptr) return nullptr;
  const bool is_due = (heap->refills + 1) % kRefillsPerPurge == 0;
  if (is_due || heap->inbox.has_any() || flush_is_wanted(heap) || helper_is_waiting()) {
    return nullptr;
  }
  ++heap->refills;
  Block* const block = take_freed(heap, bin);
  note_use(heap);
  return block;
}

}  // namespace

void* allocate_slow(std::size_t size) noexcept {
  if (size <= kMediumMax) {
    if (void* block = take_listed(size)) return block;
  }
  Content content;
  return allocate_any(size, &content);
}

void* allocate(std::size_t size) noexcept { return allocate_fast(size); }

void* allocate_zeroed(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return out_of_memory();
  if (bytes <= kSmallMax) {
    void* block = allocate_fast(bytes);
    return block != nullptr ? memset(block, 0, bytes) : nullptr;
  }
  Content content;
  void* block = allocate_any(bytes, &content);
  if (block == nullptr) return nullptr;
  if (content == Content::kUnknown) return memset(block, 0, bytes);
  if (content == Content::kZeroButFirstWord) static_cast<Block*>(block)->next = nullptr;
  return block;
}

void* allocate_aligned(std::size_t size, std::size_t alignment) noexcept {
  if (alignment <= kMinAlignment) {
    // The class of eight bytes has only that alignment.
    return allocate_fast(size < alignment ? alignment : size);
  }
  LimitCalls calls;
  void* block = aligned_block(size, alignment, calls);
  return block != nullptr ? block : out_of_memory();
}

void* allocate_if_room(std::size_t size, std::size_t alignment) {
  LimitCalls none = kNoLimitCalls;
  return aligned_block(size, alignment, none);
}

}  // namespace corbel::alloc
