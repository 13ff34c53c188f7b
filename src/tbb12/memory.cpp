// SPDX-License-Identifier: Apache-2.0
// Memory: from Corbel's allocator if the process has it, else from the C library.
#include <corbel/malloc.h>
#include <corbel/detail/allocate.hpp>
#include <corbel/numa_allocation.hpp>

#include "tbb12/layout.hpp"

#pragma weak scalable_malloc

namespace tbb::detail::r1 {

// The distance that keeps the prefetcher for pairs of lines from sharing.
CORBEL_TBB12 std::size_t cache_line_size() { return 2 * corbel::detail::kCacheLine; }

CORBEL_TBB12 void* cache_aligned_allocate(std::size_t bytes) {
  return corbel::detail::allocate_or_throw(corbel_allocate, bytes, cache_line_size());
}
CORBEL_TBB12 void cache_aligned_deallocate(void* memory) { corbel_deallocate(memory); }

CORBEL_TBB12 void* allocate_memory(std::size_t bytes) {
  return corbel::detail::allocate_or_throw(corbel_allocate, bytes, alignof(std::max_align_t));
}
CORBEL_TBB12 void deallocate_memory(void* memory) { corbel_deallocate(memory); }

CORBEL_TBB12 bool is_tbbmalloc_used() { return scalable_malloc != nullptr; }

CORBEL_TBB12 void* allocate_interleaved(std::size_t bytes, const int* nodes, std::size_t count,
                                        std::size_t bytes_per_chunk) {
  if (nodes == nullptr) return corbel::allocate_numa_interleaved(bytes, bytes_per_chunk);
  return corbel::detail::allocate_interleaved(bytes, nodes, count, bytes_per_chunk);
}
CORBEL_TBB12 void deallocate_interleaved(void* memory, std::size_t bytes) {
  corbel::deallocate_numa_interleaved(memory, bytes);
}

}  // namespace tbb::detail::r1
