// SPDX-License-Identifier: Apache-2.0
// The layout of a pool's raw memory, in which a block's address alone leads to its header.
//
//   chunk:  [PoolChunk][span][span] ... [span][end mark]      one call of pAlloc
//   span:   [PoolSpan, 64 bytes][large block]                 or free
//           [PoolSlab, 112 bytes][block][block] ...           a slab of small blocks
//
// The unit is the pool's own page P (4 KiB; less in a small fixed pool). A span begins 64 bytes
// before a multiple of P, and its length is a multiple of P. A slab is 4 P long and begins 64 bytes
// before a multiple of 4 P. Therefore:
//   large block:  address % P == 0; its PoolSpan lies 64 bytes before it
//   small block:  address % P != 0 (a slab skips blocks that would begin at a multiple of P);
//                 rounding address + 64 down to a multiple of 4 P, and subtracting 64, gives its
//                 PoolSlab
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "pools/pool_size_class.hpp"

namespace corbel::pools {

class Pool;
struct PoolSpan;

inline constexpr std::size_t kSpanHeader = 64;

// The header of a chunk, the raw memory of one call of pAlloc. Lies at its beginning.
struct PoolChunk {
  void* raw;  // what pAlloc returned
  std::size_t raw_bytes;
  PoolChunk* next;  // in the zone's list
  PoolChunk* previous;
  PoolSpan* first;
  std::size_t bytes;  // of all spans, without the end mark
  std::size_t used;   // spans that are not free
  bool untouched;     // nothing has been allocated since the last reset
};

struct PoolSpan {
  enum State : std::uint32_t {
    kFree = 0x46726565,
    kLarge = 0x4c617267,
    kSlab = 0x536c6162,
    kEnd = 0x456e6400
  };

  Pool* pool;
  PoolChunk* chunk;
  std::size_t bytes;   // including the header
  std::size_t before;  // bytes of the preceding span in the chunk; 0 for the first
  State state;
  std::uint32_t size_class;  // in a slab
  std::size_t requested;     // in a large block: the size that the program requested
  PoolSpan* next;            // in a bin of free spans or a list of slabs
  PoolSpan* previous;

  std::uintptr_t address() const { return address_of(this); }
  void* block() const { return pointer_to(address() + kSpanHeader); }
  PoolSpan* following() const { return static_cast<PoolSpan*>(pointer_to(address() + bytes)); }
  PoolSpan* preceding() const { return static_cast<PoolSpan*>(pointer_to(address() - before)); }
};
static_assert(sizeof(PoolSpan) == kSpanHeader);

struct FreeBlock {
  FreeBlock* next;
};

struct PoolSlab : PoolSpan {
  FreeBlock* free;       // the slab's free list
  std::uintptr_t fresh;  // the blocks from this address on have never been used
  std::uint32_t live;    // blocks that are not free in the slab; 0: it is empty
};
inline constexpr std::size_t kSlabHeader = 112;
static_assert(sizeof(PoolSlab) <= kSlabHeader);

// The page of a pool, and the sizes and addresses that follow from it.
struct Geometry {
  std::size_t page = 4096;

  std::size_t slab_bytes() const { return 4 * page; }

  // The length of a span for a large block of `size` bytes.
  std::size_t span_bytes(std::size_t size) const { return align_up(size + kSpanHeader, page); }

  bool is_large(const void* block) const { return (address_of(block) & (page - 1)) == 0; }

  static PoolSpan* large_span(const void* block) {
    return static_cast<PoolSpan*>(pointer_to(address_of(block) - kSpanHeader));
  }
  PoolSlab* slab_of(const void* block) const {
    return static_cast<PoolSlab*>(
        pointer_to(align_down(address_of(block) + kSpanHeader, slab_bytes()) - kSpanHeader));
  }

  // The largest size that slabs serve: two blocks must fit into a slab. 0: no slabs at all.
  std::size_t max_small() const {
    if (page <= kSpanHeader) return 0;
    std::size_t best = 0;
    for (std::size_t size : kPoolClassSizes) {
      if (2 * size <= slab_bytes() - kSlabHeader) best = size;
    }
    return best;
  }

  // A fixed pool never grows, so a smaller one has a smaller page, to waste less.
  static Geometry for_fixed(std::size_t bytes) {
    if (bytes >= 1024 * 1024) return {4096};
    if (bytes >= 64 * 1024) return {1024};
    if (bytes >= 4 * 1024) return {256};
    return {64};
  }
};

// Where the blocks of a slab begin. At offset 112 they are aligned to 16 and the most blocks fit.
inline std::uintptr_t first_block(const PoolSlab& slab) {
  return slab.address() + (pool_class_is_aligned(slab.size_class) ? 2 * kSpanHeader : kSlabHeader);
}

}  // namespace corbel::pools
