// SPDX-License-Identifier: Apache-2.0
// The free spans of a pool, in bins by length. First fit within a bin; coalescing on release. Every
// function requires that the caller holds the pool's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pools/pool_span.hpp"

namespace corbel::pools {

class PoolSpanHeap {
 public:
  // Sets the page, if it is not 4 KiB. Requires: no chunk has been added.
  void set_page(std::size_t page) { page_ = page; }

  // Forgets all free spans.
  void clear();

  // Makes the whole chunk one free span and writes the end mark. Requires: its `first` and `bytes`
  // are set, and there is room for the end mark after them.
  void add_chunk(Pool* pool, PoolChunk* chunk);

  // Removes the chunk from the heap. Requires: it consists of one free span.
  void remove_chunk(PoolChunk* chunk) { remove(chunk->first); }

  // Returns a span of `bytes` whose large block is aligned to `alignment`, or nullptr when there is
  // none. Requires: both are multiples of the page. The caller sets the span's state.
  PoolSpan* allocate(std::size_t bytes, std::size_t alignment);

  // Makes a span free and coalesces it with its neighbours.
  void release(PoolSpan* span);

  // Changes the length of a span in use to `bytes`, in place. Returns false when there is not
  // enough free space after it.
  bool resize(PoolSpan* span, std::size_t bytes);

 private:
  // One bin for each length up to 32 pages, then four for each doubling.
  static constexpr unsigned kBins = 192;

  static unsigned bin_of(std::size_t pages);
  PoolSpan* find(std::size_t bytes, std::size_t alignment, std::size_t* front) const;
  void insert(PoolSpan* span);
  void remove(PoolSpan* span);
  // Cuts `span` after `bytes` and returns the rest as a span that is in no bin.
  static PoolSpan* split(PoolSpan* span, std::size_t bytes);

  PoolSpan* bins_[kBins] = {};
  std::uint64_t filled_[kBins / 64] = {};  // bit b % 64 of word b / 64: bin b is not empty
  std::size_t page_ = 4096;
};

}  // namespace corbel::pools
