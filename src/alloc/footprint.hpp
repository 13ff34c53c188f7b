// SPDX-License-Identifier: Apache-2.0
// The footprint: the bytes that Corbel has committed, its own tables included, counted before they
// are touched.
//
// What is counted is never less than what is resident, and reclaiming makes the two equal but for
// what a program never touches of its blocks: a large block and a slab of used memory count as a
// whole, a slab of fresh memory with the pages that were entered, free memory with the pages that
// may be resident (dirty_pages.hpp), the tables with the pages in use. Not counted are a few pages
// of the library's own variables, and, while the content of a large block moves, the first page of
// where it goes.
//
// Two bounds stand beside the count, so that one comparison decides whether a page may be entered:
// the ceiling, above which the soft limit wants to be asked first, and the hard limit
// (heap_limit.hpp sets both).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"

namespace corbel::alloc {

class Footprint {
 public:
  // Counts the bytes; false, and nothing is counted, if that were more than the ceiling allows.
  bool try_commit(std::size_t bytes) { return add(bytes, ceiling_); }

  // As try_commit for the allocator's own tables, which only the hard limit refuses.
  bool try_commit_table(std::size_t bytes) { return add(bytes, hard_); }

  // Counts what is resident already.
  // relaxed, as everything here: the count orders nothing
  void commit(std::size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }

  // After the bytes were given back.
  void release(std::size_t bytes);

  // relaxed throughout: see commit
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::size_t peak() const;

  std::size_t ceiling() const { return ceiling_.load(std::memory_order_relaxed); }

  // Whether try_commit would succeed now.
  bool has_room(std::size_t bytes) const {
    const std::size_t most = ceiling();
    return bytes == 0 || (bytes <= most && this->bytes() <= most - bytes);
  }

  // For heap_limit, which is told when the count falls from above `watched`.
  void set_bounds(std::size_t ceiling, std::size_t hard, std::size_t watched) {
    ceiling_.store(ceiling, std::memory_order_relaxed);
    hard_.store(hard, std::memory_order_relaxed);
    watched_.store(watched, std::memory_order_relaxed);
  }

 private:
  // The indivisible step from below the bound to not above it is what makes a limit exact: of two
  // threads that want the last bytes one comes second and sees what the first has taken.
  bool add(std::size_t bytes, const std::atomic<std::size_t>& bound) {
    if (bytes == 0) return true;  // also above the bound
    std::size_t now = bytes_.load(std::memory_order_relaxed);
    do {
      const std::size_t most = bound.load(std::memory_order_relaxed);
      if (bytes > most || now > most - bytes) return false;
    } while (!bytes_.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed,
                                           std::memory_order_relaxed));
    return true;
  }

  alignas(kCacheLine) std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> ceiling_{SIZE_MAX};
  std::atomic<std::size_t> hard_{SIZE_MAX};
  std::atomic<std::size_t> watched_{SIZE_MAX};
  std::atomic<std::size_t> peak_{0};
};

extern Footprint footprint;

}  // namespace corbel::alloc
