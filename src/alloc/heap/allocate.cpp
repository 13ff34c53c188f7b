// SPDX-License-Identifier: Apache-2.0
// malloc, calloc and aligned_alloc below the inline path.
#include "alloc/heap/allocate.hpp"

#include <string.h>

#include "alloc/heap/bin.hpp"
#include "alloc/heap/borrowed.hpp"
#include "alloc/heap/fast_path.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/heap/kept_address.hpp"
#include "alloc/heap/large.hpp"
#include "alloc/heap/remote.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/span_heap.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// What the caller may conclude about the content of a new block.
enum class Content { kUnknown, kZero };

Heap* attach_or_find_room(LimitCalls& calls) {
  Heap* heap = attach_heap();
  if (heap != nullptr) [[likely]]
    return heap;
  RoomSearch search(nullptr, calls);
  const std::size_t room = align_up(sizeof(Heap), os::page_size());
  do {
    heap = attach_heap();
  } while (heap == nullptr && search.find(footprint.has_room(room) ? 0 : room));
  return heap;
}

// Does a thread's periodic work for its heap, before a refill. Requires: the caller is in a slow
// path.
void prepare_refill(Heap* heap) {
  receive_and_flush(heap);
  if (++heap->refills % kRefillsPerPurge != 0) return;
  take_rested_heaps_apart();
  span_heap.purge_if_due();
}

// At the end of a process of which no other thread is left: the block gets a mapping of its own,
// because another thread may have left any of the allocator's lists half changed.
__attribute__((noinline, cold)) void* allocate_alone(std::size_t size, std::size_t alignment,
                                                     Content* content) {
  *content = Content::kZero;
  Span* const span = map_large_alone(size, alignment);
  return span != nullptr ? span->start() : nullptr;
}

void* allocate_from_bin(unsigned size_class, const BlockRequest& request, LimitCalls& calls,
                        Content* content) {
  *content = Content::kUnknown;
  if (os::other_threads_are_gone()) [[unlikely]]
    return allocate_alone(request.size, request.alignment, content);
  call_helper(MayStart::kYes);
  const LateHeap late_heap;
  Heap* heap = attach_or_find_room(calls);
  if (heap == nullptr) return nullptr;
  SlowPath slow_path(heap);
  Bin* bin = &heap->bins[size_class];
  RoomSearch search(heap, calls);
  bool zeroed = false;
  std::size_t shortage = 0;
  Block* block;
  do {
    // The bin may have blocks by now: starting the helper thread calls malloc, and so may the
    // program's callback.
    leave_empty_borrowed_list(bin);
    block = bin->list;
    if (block != nullptr) {
      bin->list = block->next;
      return block;
    }
    prepare_refill(heap);
    if (sample_is_due(heap, size_class)) [[unlikely]] {
      if (void* const sampled = sample_block(heap, size_class, request)) return sampled;
    }
    block = refill(heap, bin, &zeroed, &shortage);
  } while (block == nullptr && search.find(shortage));
  if (zeroed) *content = Content::kZero;
  return block;
}

void* allocate_span(std::size_t size, std::size_t alignment, LimitCalls& calls, Content* content) {
  // Refuse at once. Reclaiming memory cannot help: no address space could hold the block.
  if (size > kMaxBlock || alignment > kMaxBlock) return nullptr;
  if (os::other_threads_are_gone()) [[unlikely]]
    return allocate_alone(size, alignment, content);
  SpanRequest request = large_request(size, alignment);
  Span* span = allocate_large(request, calls);
  // The new span may have made the helper thread worth its cost.
  call_helper(MayStart::kYes);
  if (span == nullptr) return nullptr;
  set_tail(span, size);
  const KeptAddress block(span->start());
  if (sampling_is_on()) [[unlikely]]
    sample_large(span);
  *content = span->zeroed ? Content::kZero : Content::kUnknown;
  return block.get();
}

// Whether src/alloc/check serves the request. To be asked where the fast path has found no block.
bool is_watched() { return heap_of_thread() == &unset_heap && first_call_is_watched(); }

void* allocate_any(std::size_t size, Content* content) {
  LimitCalls calls;
  void* block = size <= kMediumMax ? allocate_from_bin(class_of(size), {size, 1}, calls, content)
                                   : allocate_span(size, 1, calls, content);
  return block != nullptr ? block : out_of_memory();
}

void* aligned_block(std::size_t size, std::size_t alignment, LimitCalls& calls) {
  const unsigned size_class = aligned_class_of(size, alignment);
  Content content;
  return size_class < kClasses ? allocate_from_bin(size_class, {size, alignment}, calls, &content)
                               : allocate_span(size, alignment, calls, &content);
}

// Returns a block of the bin's list, for sizes that the inline path does not serve. If the list is
// empty, takes over the blocks that were freed to the bin's current slab, which suffices for most
// refills. nullptr if there are none, or if work or a sample is due before the refill. Makes no
// call that could block, so it is not a slow path in the sense of idle_heaps.hpp.
inline void* take_listed(Heap* heap, std::size_t size) {
  Bin* const bin = &heap->bins[class_of(size)];
  leave_empty_borrowed_list(bin);
  if (Block* const block = bin->list) {
    if (!bin->list_is_borrowed) check_link(bin->current, block);
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

void* allocate_slow(std::size_t size, Origin origin) noexcept {
  if (size <= kMediumMax) {
    if (void* block = take_listed(heap_of_thread(), size)) return block;
  }
  if (is_watched()) [[unlikely]]
    return watched_allocate(size, 1, origin, Fill::kAny);
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
  if (is_watched()) [[unlikely]]
    return watched_allocate(bytes, 1, Origin::kMalloc, Fill::kZero);
  Content content;
  void* block = allocate_any(bytes, &content);
  if (block == nullptr) return nullptr;
  return content == Content::kZero ? block : memset(block, 0, bytes);
}

void* allocate_aligned(std::size_t size, std::size_t alignment, Origin origin) noexcept {
  // A block of the eight-byte class is aligned to only eight bytes: use a larger class.
  const std::size_t enough = size < alignment ? alignment : size;
  if (alignment <= kMinAlignment) {
    if (void* block = pop_small(enough)) return block;
  }
  if (is_watched()) [[unlikely]]
    return watched_allocate(size, alignment, origin, Fill::kAny);
  if (alignment <= kMinAlignment) return allocate_slow(enough, origin);
  LimitCalls calls;
  void* block = aligned_block(size, alignment, calls);
  return block != nullptr ? block : out_of_memory();
}

void* allocate_if_room(std::size_t size, std::size_t alignment) {
  LimitCalls none = kNoLimitCalls;
  return aligned_block(size, alignment, none);
}

void* allocate_span_block(std::size_t size, std::size_t alignment, bool* zeroed) {
  LimitCalls calls;
  Content content;
  void* block = allocate_span(size, alignment, calls, &content);
  *zeroed = block != nullptr && content == Content::kZero;
  return block;
}

}  // namespace corbel::alloc
