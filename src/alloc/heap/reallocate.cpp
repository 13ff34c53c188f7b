// SPDX-License-Identifier: Apache-2.0
// realloc: in place where the block has room or can grow, by moving pages where it is large, else
// by copying.
#include "alloc/heap/reallocate.hpp"

#include <string.h>

#include "alloc/heap/allocate.hpp"
#include "alloc/heap/fast_path.hpp"
#include "alloc/heap/foreign.hpp"
#include "alloc/heap/guarding.hpp"
#include "alloc/heap/kept_address.hpp"
#include "alloc/heap/large.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/heap/slab.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/map/die.hpp"
#include "alloc/map/policy_hooks.hpp"

namespace corbel::alloc {

namespace {

// The slab or large block that `block` is the start of; a unit of the guard pool, where size_of()
// checks the block; nullptr if it is foreign. Ends the process if it is none of these.
Span* find_block(const char* function, const void* block) {
  Span* span = slab_head(find_span(block));
  const std::uintptr_t t = span->tag();
  if (t == span_tag::kForeign) return nullptr;
  if (t == span_tag::kLarge) {
    if (block != span->start()) die(function, "the pointer is not the start of a block", block);
    return span;
  }
  if (t == span_tag::kGuarded) return span;
  if (t < span_tag::kFirstHeap && t != span_tag::kSampled) {
    die(function, "no block is allocated there", block);
  }
  check_block(function, span, block);
  return span;
}

bool is_large(const Span* span) { return span->tag() == span_tag::kLarge; }

bool is_guarded(const Span* span) { return span->tag() == span_tag::kGuarded; }

std::size_t size_of(const char* function, const Span* span, const void* block) {
  if (is_guarded(span)) return guarded_size(function, block);
  return is_large(span) ? large_size(span) : span->layout().block_size;
}

// Whether a block that is large enough for `size` bytes stays where it is. A large block, and one
// that would be more than half empty, is replaced by a smaller one. So is a guarded block, which
// must end at the end of its slot.
bool keeps_place(const Span* span, std::size_t old_size, std::size_t size) {
  return !is_large(span) && !is_guarded(span) && size >= old_size / 2;
}

void* allocate_like(std::size_t size, std::size_t alignment) {
  return alignment <= sizeof(void*) ? allocate_fast(size) : allocate_aligned(size, alignment);
}

void* sampled_or_not(Span* large) {
  const KeptAddress block(large->start());
  if (sampling_is_on()) [[unlikely]]
    sample_large(large);
  return block.get();
}

// To be called when a realloc has made a block larger: the instruments may want to know.
void after_growth(void* block, std::size_t copied) {
  if (sampling_is_on()) [[unlikely]]
    note_growth(block, copied);
}

// resize_large(), after which the block may be sampled or no longer.
bool resize_and_sample(Span* span, std::size_t size, std::size_t* shortage) {
  const std::size_t old_size = large_size(span);
  if (!resize_large(span, size, shortage)) return false;
  if (large_size(span) == old_size) return true;
  if (span->sampled) forget_large(span);
  sampled_or_not(span);
  if (large_size(span) > old_size) after_growth(span->start(), 0);
  return true;
}

// Moves a large block to a larger or smaller one and frees it. nullptr when memory is exhausted.
void* move_large_block(Span* from, std::size_t size, std::size_t alignment, LimitCalls& calls) {
  const std::size_t old_size = large_size(from);
  std::size_t copied = 0;
  const auto finish = [&](Span* to) {
    void* const block = sampled_or_not(to);
    if (large_size(to) > old_size) after_growth(block, copied);
    return block;
  };
  SpanRequest request = large_request(size, alignment);
  const std::size_t moving = bytes_moving(from, request.units);
  const std::size_t tail = from->tail;
  if (moving != 0 && count_tail(from)) request.moving_in = moving;
  const auto refuse = [&]() -> void* {
    if (from->tail != tail) uncount_tail(from, tail);
    return nullptr;
  };
  Span* to = allocate_large(request, calls);
  if (to == nullptr) return refuse();
  // What the content leads to must be found there as soon as it has moved.
  const KeptAddress kept(to->start());
  if (request.moving_in == 0) set_tail(to, size);
  if (move_large(from, to, request.taken_over, &copied)) {
    trim_tail(to, size);
    return finish(to);
  }
  // Only copying is left, which needs room for both blocks.
  request = large_request(size, alignment);
  to = allocate_large(request, calls);
  if (to == nullptr) return refuse();
  const KeptAddress kept_too(to->start());
  set_tail(to, size);
  copy_large(from, to, &copied);
  return finish(to);
}

// Returns false if the block cannot be resized in place. Sets `refused` if the reason is that a
// limit leaves no room: then there is none for a larger block elsewhere either.
bool resize_in_place(Span* span, std::size_t size, LimitCalls& calls, bool* refused) {
  Heap* const heap = find_heap();
  SlowPath slow_path(heap);
  RoomSearch search(heap, calls);
  std::size_t shortage = 0;
  do {
    if (resize_and_sample(span, size, &shortage)) return true;
  } while (shortage != 0 && search.find(shortage));
  *refused = shortage != 0;
  return false;
}

void* move_block(void* block, std::size_t old_size, std::size_t size, std::size_t alignment,
                 bool may_stay) {
  void* fresh = may_stay ? allocate_if_room(size, alignment) : allocate_like(size, alignment);
  if (fresh == nullptr) return nullptr;
  const bool grows = old_size < size;
  memcpy(fresh, block, grows ? old_size : size);
  deallocate_fast(block);
  if (grows) after_growth(fresh, old_size);
  return fresh;
}

// Resizes a large block to a size that is large too.
void* resize_large_block(Span* span, void* block, std::size_t size, std::size_t alignment) {
  const KeptAddress kept(block);
  call_helper(MayStart::kYes);
  LimitCalls calls;
  if (address_of(block) % alignment == 0) {
    bool refused = false;
    if (resize_in_place(span, size, calls, &refused)) return block;
    if (refused) return out_of_memory();
  }
  // Refuse at once. Reclaiming memory cannot help: no address space could hold the block.
  if (size > kMaxBlock || alignment > kMaxBlock) return out_of_memory();
  void* moved = move_large_block(span, size, alignment, calls);
  return moved != nullptr ? moved : out_of_memory();
}

void* replace_foreign(void* block, std::size_t size, std::size_t alignment) {
  if (size == 0) {
    free_foreign(block);
    return nullptr;
  }
  void* fresh = allocate_aligned(size, alignment);
  if (fresh == nullptr) return nullptr;
  const std::size_t old_size = foreign_size(block);
  memcpy(fresh, block, old_size < size ? old_size : size);
  free_foreign(block);
  return fresh;
}

}  // namespace

void* reallocate(void* block, std::size_t size) noexcept {
  return reallocate_aligned(block, size, 1);
}

void* reallocate_aligned(void* block, std::size_t size, std::size_t alignment) noexcept {
  if (block == nullptr) return allocate_like(size, alignment);
  void* result;
  if (call_is_watched() && watched_reallocate(block, size, alignment, &result)) [[unlikely]]
    return result;
  Span* span = find_block("realloc", block);
  if (span == nullptr && alignment <= kMinAlignment) return reallocate_foreign(block, size);
  if (span == nullptr) return replace_foreign(block, size, alignment);
  if (size == 0) {
    deallocate_fast(block);
    return nullptr;
  }
  if (size > PTRDIFF_MAX) {
    return out_of_memory();
  }
  if (is_large(span) && size > kMediumMax) return resize_large_block(span, block, size, alignment);
  const std::size_t old_size = size_of("realloc", span, block);
  const bool fits = size <= old_size && address_of(block) % alignment == 0;
  if (fits && keeps_place(span, old_size, size)) return block;
  if (void* moved = move_block(block, old_size, size, alignment, fits)) return moved;
  // If the new size fits, the block can stay where it is after all.
  std::size_t shortage = 0;
  if (fits && is_large(span)) resize_and_sample(span, size, &shortage);
  return fits ? block : nullptr;
}

std::size_t usable_size(const void* block) noexcept {
  const Span* span = find_span(block);
  // A fast path, because some programs ask at every malloc and free: most blocks lie in the first
  // unit of their slab.
  if (!watches() && span->tag() >= span_tag::kFirstHeap && begins_block(span, block))
    return span->layout().block_size;
  if (block == nullptr) return 0;
  if (call_is_watched()) [[unlikely]]
    return watched_usable_size(block);
  span = find_block("malloc_usable_size", block);
  return span != nullptr ? size_of("malloc_usable_size", span, block) : foreign_size(block);
}

bool is_block(const void* block) noexcept {
  if (call_is_watched()) [[unlikely]]
    return block != nullptr && watched_is_block(block);
  const Span* span = slab_head(find_span(block));
  if (span->tag() == span_tag::kLarge) return block == span->start();
  const std::uintptr_t t = span->tag();
  if (t == span_tag::kGuarded) return is_guarded_block(block);
  return (t >= span_tag::kFirstHeap || t == span_tag::kSampled) && begins_block(span, block);
}

bool owns(const void* block) noexcept { return find_span(block)->tag() != span_tag::kForeign; }

}  // namespace corbel::alloc
