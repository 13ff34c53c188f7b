// SPDX-License-Identifier: Apache-2.0
// The footprint: the bytes that Corbel has committed, its own tables included, counted before they
// are touched.
//
// What is counted is never less than what is resident, and reclaiming makes the two equal: a free
// span counts with what may be resident of it, a large block and a slab of used memory as a whole, a
// slab of fresh memory with what was carved of it.
#pragma once

#include <atomic>
#include <cstddef>

namespace corbel::alloc {

class Footprint {
 public:
  // relaxed throughout: the count orders nothing
  void commit(std::size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void release(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> bytes_{0};
};

extern Footprint footprint;

}  // namespace corbel::alloc
