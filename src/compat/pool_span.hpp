// SPDX-License-Identifier: Apache-2.0
// How a pool lays out its raw memory, so that a block's address alone leads to its header.
//
//   region:  [Region][span][span] ... [span][end mark]        one call of pAlloc
//   span:    [Span, 64 bytes][large block]                    or free
//            [Slab, 112 bytes][block][block] ...              a slab of small blocks
//
// Sizes are counted in the pool's own page P (4 KiB; less in a small fixed pool). Spans begin 64
// bytes before a multiple of P and are a multiple of P long; slabs are 4 P long and begin 64 bytes
// before a multiple of 4 P. Hence:
//   large block:  address % P == 0, its Span lies 64 bytes before
//   small block:  address % P != 0 (such places in a slab are left out), its Slab is found by
//                 rounding address + 64 down to a multiple of 4 P
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "compat/pool_size_class.hpp"

namespace corbel::compat {

class Pool;
struct Span;

inline constexpr std::size_t kSpanHeader = 64;

// One piece of raw memory. Lies at its start.
struct Region {
  void* raw;  // as pAlloc gave it
  std::size_t raw_bytes;
  Region* next;  // in the zone's list
  Region* previous;
  Span* first;
  std::size_t bytes;  // all spans together, end mark not included
  std::size_t used;   // spans that are not free
  bool untouched;     // nothing was allocated since the last reset
};

struct Span {
  enum State : std::uint32_t {
    kFree = 0x46726565,
    kLarge = 0x4c617267,
    kSlab = 0x536c6162,
    kEnd = 0x456e6400
  };

  Pool* pool;
  Region* region;
  std::size_t bytes;   // header included
  std::size_t before;  // bytes of the span before this one in the region; 0 for the first
  State state;
  std::uint32_t size_class;  // of a slab
  std::size_t asked;         // of a large block: what the program asked for
  Span* next;                // in a bin of free spans or a list of slabs
  Span* previous;

  std::uintptr_t address() const { return address_of(this); }
  void* block() const { return pointer_to(address() + kSpanHeader); }
  Span* following() const { return static_cast<Span*>(pointer_to(address() + bytes)); }
  Span* preceding() const { return static_cast<Span*>(pointer_to(address() - before)); }
};
static_assert(sizeof(Span) == kSpanHeader);

struct FreeBlock {
  FreeBlock* next;
};

struct Slab : Span {
  FreeBlock* free;       // blocks that came back
  std::uintptr_t fresh;  // where the never used rest begins
  std::uint32_t live;    // blocks out of the slab; 0 = empty
};
inline constexpr std::size_t kSlabHeader = 112;
static_assert(sizeof(Slab) <= kSlabHeader);

// The page of a pool and what follows from it.
struct Geometry {
  std::size_t page = 4096;

  std::size_t slab_bytes() const { return 4 * page; }

  // The length of a span for a large block of `size` bytes.
  std::size_t span_bytes(std::size_t size) const { return align_up(size + kSpanHeader, page); }

  bool is_large(const void* block) const { return (address_of(block) & (page - 1)) == 0; }

  static Span* large_span(const void* block) {
    return static_cast<Span*>(pointer_to(address_of(block) - kSpanHeader));
  }
  Slab* slab_of(const void* block) const {
    return static_cast<Slab*>(
        pointer_to(align_down(address_of(block) + kSpanHeader, slab_bytes()) - kSpanHeader));
  }

  // The largest size served from slabs: two blocks must fit into one. 0: no slabs at all.
  std::size_t max_small() const {
    if (page <= kSpanHeader) return 0;
    std::size_t best = 0;
    for (std::size_t size : kPoolClassSizes) {
      if (2 * size <= slab_bytes() - kSlabHeader) best = size;
    }
    return best;
  }

  // A fixed pool must make do with what it has: the smaller it is, the smaller its page.
  static Geometry for_fixed(std::size_t bytes) {
    if (bytes >= 1024 * 1024) return {4096};
    if (bytes >= 64 * 1024) return {1024};
    if (bytes >= 4 * 1024) return {256};
    return {64};
  }
};

// Where the blocks of a slab begin. 112 bytes in, they are aligned to 16 and fill it best.
inline std::uintptr_t first_block(const Slab& slab) {
  return slab.address() + (pool_class_is_aligned(slab.size_class) ? 2 * kSpanHeader : kSlabHeader);
}

}  // namespace corbel::compat
