// SPDX-License-Identifier: Apache-2.0
// The footprint: the bytes that Corbel has committed, its own tables included, counted before they
// are touched.
//
// The count is never less than what is resident. After all caches are reclaimed it exceeds that
// only by the parts of live blocks that the program never touches. What counts:
//   - a large block: all of it but its tail (large.hpp)
//   - a slab cut from a dirty span: all of it, but for pages that were given back
//   - a slab cut from a clean span: its committed pages
//   - free memory: the pages that may be resident (dirty_pages.hpp)
//   - the allocator's tables: the pages in use
// Not counted: a few pages of the library's own variables, and, while the content of a large block
// moves, the first page of its target.
//
// Two bounds are stored beside the count, so that one comparison decides whether a page may be
// committed. Above the ceiling the caller must search for room first (RoomSearch). No request makes
// the count exceed the hard limit; commit() may, for memory that is in use already. heap_limit.hpp
// sets both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"

namespace corbel::alloc {

class Footprint {
 public:
  // Adds the bytes to the count. False, and adds nothing, if the count would exceed the ceiling.
  bool try_commit(std::size_t bytes) { return add(bytes, ceiling_); }

  // Like try_commit(), for the allocator's own tables: checks the hard limit instead of the
  // ceiling.
  bool try_commit_table(std::size_t bytes) { return add(bytes, hard_); }

  // Counts bytes that are already resident, whatever the bounds.
  // relaxed, like every access in this class: the count orders nothing
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

  // Whether so little room is left that pages without use should be given back at once.
  bool is_near_ceiling() const { return !has_room(ceiling() / 4); }

  // From now on, a release that starts with a count above `watched` calls memory_fell().
  void set_bounds(std::size_t ceiling, std::size_t hard, std::size_t watched) {
    ceiling_.store(ceiling, std::memory_order_relaxed);
    hard_.store(hard, std::memory_order_relaxed);
    watched_.store(watched, std::memory_order_relaxed);
  }

 private:
  friend struct DebugAccess;  // report/debug_layout.cpp

  // The comparison with the bound and the addition are one atomic step, so a limit is exact: of two
  // threads that compete for the last bytes, the second sees that the first has taken them.
  bool add(std::size_t bytes, const std::atomic<std::size_t>& bound) {
    if (bytes == 0) return true;  // even if the count exceeds the bound
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
