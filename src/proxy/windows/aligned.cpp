// SPDX-License-Identifier: Apache-2.0
// What the replaced functions do with aligned blocks.
//
// A block begins at its alignment, and needs no more. But if a place inside it is what must be
// aligned (_aligned_offset_malloc), the program's block lies inside one of ours, whose address is
// kept before it. Microsoft's libraries keep the block of malloc in the same place, for all aligned
// blocks: the pointer's width below the program's block, rounded down to that.
#include <string.h>

#include <atomic>

#include "base/bits.hpp"
#include "proxy/windows/replacements.hpp"

namespace corbel::proxy {
namespace {

// Whether a block has ever been handed out that lies inside another. relaxed: a thread that has
// such a block has got it from one that stored this before.
constinit std::atomic<bool> has_inner_blocks{false};

void* outer_of(void* block) {
  void* outer;
  memcpy(&outer, pointer_to(align_down(address_of(block), sizeof(void*)) - sizeof(void*)),
         sizeof outer);
  return outer;
}

// The block around an inner one; else nullptr. Requires: `block` is an aligned block, of ours or of
// the library.
void* outer_block(void* block, const Runtime& runtime) {
  if (!has_inner_blocks.load(std::memory_order_relaxed)) return nullptr;  // relaxed: see there
  const int error = runtime.error_number != nullptr ? *runtime.error_number() : 0;
  void* outer = nullptr;
  if (scalable_msize(block) == 0) {
    outer = outer_of(block);
    const size_t size = scalable_msize(outer);
    const std::uintptr_t distance = address_of(block) - address_of(outer);
    if (size == 0 || distance == 0 || distance >= size) outer = nullptr;
    set_error(runtime, error);
  }
  return outer;
}

void* invalid(const Runtime& runtime) {
  report_invalid_argument(runtime);
  return nullptr;
}

void* overflow(const Runtime& runtime) {
  set_error(runtime, 12);  // ENOMEM
  return nullptr;
}

size_t at_least(size_t alignment) { return alignment < sizeof(void*) ? sizeof(void*) : alignment; }

struct Content {
  size_t known;   // bytes that the program may have asked for
  size_t room;    // bytes that may be read
  bool is_plain;  // a block of ours, at its first byte
};

Content content_of(void* block, size_t alignment, size_t offset, const Runtime& runtime) {
  if (void* const outer = outer_block(block, runtime); outer != nullptr) {
    const size_t room = size_of(outer) - (address_of(block) - address_of(outer));
    return {room, room, false};
  }
  if (!is_foreign(block)) {
    const size_t room = size_of(block);
    return {room, room, true};
  }
  // The debug libraries have other headers.
  const auto debug = original<size_t(void*, size_t, size_t)>(runtime, kAlignedMsizeDbg);
  if (debug != nullptr) {
    const size_t size = debug(block, alignment, offset);
    return {size, size, false};
  }
  const auto size_of_original = original<size_t(void*)>(runtime, kMsize);
  if (size_of_original == nullptr) return {0, 0, false};
  void* const outer = outer_of(block);
  const size_t room = size_of_original(outer) - (address_of(block) - address_of(outer));
  const auto size_of_aligned = original<size_t(void*, size_t, size_t)>(runtime, kAlignedMsize);
  const size_t known =
      size_of_aligned != nullptr ? size_of_aligned(block, alignment, offset) : room;
  return {known < room ? known : room, room, false};
}

void release_any(void* block, const Runtime& runtime) {
  release_aligned(block, runtime, kAlignedFree);
}

}  // namespace

// Microsoft's documentation calls a size of 0 invalid; its libraries allocate a block.
void* allocate_aligned(size_t size, size_t alignment, size_t offset, const Runtime& runtime) {
  if (!is_power_of_two(alignment) || (offset != 0 && offset >= size)) return invalid(runtime);
  const size_t wanted = size == 0 ? 1 : size;
  alignment = at_least(alignment);
  if (offset % alignment == 0) {
    return allocate_with(
        runtime, size, [wanted, alignment] { return scalable_aligned_malloc(wanted, alignment); });
  }
  constexpr size_t kHeader = 2 * sizeof(void*);
  size_t bytes;
  if (__builtin_add_overflow(size, alignment + kHeader, &bytes)) return overflow(runtime);
  void* const outer = allocate(bytes, runtime);
  if (outer == nullptr) return nullptr;
  const std::uintptr_t first = address_of(outer) + kHeader;
  void* const block = pointer_to(align_up(first + offset, alignment) - offset);
  memcpy(pointer_to(align_down(address_of(block), sizeof(void*)) - sizeof(void*)), &outer,
         sizeof outer);
  has_inner_blocks.store(true, std::memory_order_relaxed);  // relaxed: see there
  return block;
}

void* reallocate_aligned(void* block, size_t size, size_t alignment, size_t offset,
                         const Runtime& runtime) {
  if (block == nullptr) return allocate_aligned(size, alignment, offset, runtime);
  if (size == 0) {
    release_any(block, runtime);
    return nullptr;
  }
  if (!is_power_of_two(alignment) || (offset != 0 && offset >= size)) return invalid(runtime);
  const Content content = content_of(block, alignment, offset, runtime);
  const size_t real_alignment = at_least(alignment);
  if (content.is_plain && offset % real_alignment == 0) {
    return allocate_with(runtime, size, [block, size, real_alignment] {
      return scalable_aligned_realloc(block, size, real_alignment);
    });
  }
  void* const moved = allocate_aligned(size, alignment, offset, runtime);
  if (moved == nullptr) return nullptr;
  memcpy(moved, block, content.room < size ? content.room : size);
  release_any(block, runtime);
  return moved;
}

void* reallocate_zeroed_aligned(void* block, size_t count, size_t size, size_t alignment,
                                size_t offset, const Runtime& runtime) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return overflow(runtime);
  const bool is_valid = is_power_of_two(alignment) && (offset == 0 || offset < bytes);
  const size_t before =
      block == nullptr || !is_valid ? 0 : content_of(block, alignment, offset, runtime).known;
  void* const moved = reallocate_aligned(block, bytes, alignment, offset, runtime);
  if (moved == nullptr) return nullptr;
  // All of the new block after the content is zeroed, since it counts as content the next time.
  const size_t kept = bytes < before ? bytes : before;
  const size_t room = content_of(moved, alignment, offset, runtime).room;
  memset(static_cast<char*>(moved) + kept, 0, room - kept);
  return moved;
}

void release_aligned(void* block, const Runtime& runtime, Function called) {
  if (has_inner_blocks.load(std::memory_order_relaxed)) [[unlikely]] {  // relaxed: see there
    if (block == nullptr) return;
    if (void* const outer = outer_block(block, runtime); outer != nullptr) block = outer;
  }
  release(block, runtime, called);
}

size_t aligned_block_size(void* block, size_t alignment, size_t offset, const Runtime& runtime,
                          Function called) {
  if (block == nullptr) {
    report_invalid_argument(runtime);
    return ~size_t(0);
  }
  if (void* const outer = outer_block(block, runtime); outer != nullptr) {
    return size_of(outer) - (address_of(block) - address_of(outer));
  }
  if (!is_foreign(block)) return size_of(block);
  return original<size_t(void*, size_t, size_t)>(runtime, called)(block, alignment, offset);
}

}  // namespace corbel::proxy
