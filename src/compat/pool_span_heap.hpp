// SPDX-License-Identifier: Apache-2.0
// The free spans of a pool, in bins by length: first fit within a bin, coalesced on release. The
// caller holds the pool's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compat/pool_span.hpp"

namespace corbel::compat {

class PoolSpanHeap {
 public:
  // Before the first region, where the page is not 4 KiB.
  void set_page(std::size_t page) { page_ = page; }

  // Forgets all free spans.
  void clear();

  // Makes all of the region one free span. Its `first` and `bytes` are set, and the end mark's
  // place is its own.
  void add_region(Pool* pool, Region* region);

  // Takes the region's only span, free, out of the bins.
  void remove_region(Region* region) { remove(region->first); }

  // A span of `bytes` whose large block would be aligned to `alignment`; both are multiples of the
  // page. nullptr when there is none. Its state is the caller's to set.
  Span* allocate(std::size_t bytes, std::size_t alignment);

  void release(Span* span);

  // Makes a span in use `bytes` long where it stands. False when there is no room behind it.
  bool resize(Span* span, std::size_t bytes);

 private:
  // One bin for each length up to 32 pages, then four for each doubling.
  static constexpr unsigned kBins = 192;

  static unsigned bin_of(std::size_t pages);
  Span* find(std::size_t bytes, std::size_t alignment, std::size_t* front) const;
  void insert(Span* span);
  void remove(Span* span);
  // Cuts `span` after `bytes` and returns the rest as a span of its own, in no bin.
  static Span* split(Span* span, std::size_t bytes);

  Span* bins_[kBins] = {};
  std::uint64_t filled_[kBins / 64] = {};  // bit b of the whole = bin b is not empty
  std::size_t page_ = 4096;
};

}  // namespace corbel::compat
