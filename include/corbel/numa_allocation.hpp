// SPDX-License-Identifier: Apache-2.0
// Memory that lies on several memory nodes in turn, so that their bandwidths add up. C++11 and
// later. Follows the oneTBB extension for interleaved allocation. Any thread may call any function.
#ifndef CORBEL_NUMA_ALLOCATION_HPP
#define CORBEL_NUMA_ALLOCATION_HPP

#include <cstddef>
#include <vector>

#include <corbel/detail/config.hpp>
#include <corbel/info.hpp>

namespace corbel {

namespace detail {
CORBEL_EXPORT void* allocate_interleaved(std::size_t bytes, const numa_node_id* nodes,
                                         std::size_t count, std::size_t bytes_per_chunk) noexcept;
CORBEL_EXPORT void deallocate_interleaved(void* memory, std::size_t bytes) noexcept;
}  // namespace detail

// Returns `bytes` bytes of zeroed memory, aligned to a page, whose chunks of `bytes_per_chunk`
// bytes lie on the given nodes in turn; a node that is named twice gets two chunks in each turn.
// The memory comes from the system in each call, and its placement is a hint. A `bytes_per_chunk`
// of 0 means a page. Returns nullptr if memory is exhausted, `bytes` is 0, there are no nodes, one
// of them cannot exist, or `bytes_per_chunk` is not a multiple of the page size.
inline void* allocate_numa_interleaved(std::size_t bytes, const std::vector<numa_node_id>& nodes,
                                       std::size_t bytes_per_chunk = 0) {
  return detail::allocate_interleaved(bytes, nodes.data(), nodes.size(), bytes_per_chunk);
}

// The same on all nodes on which the process may run. Throws bad_alloc if there is no memory for
// their list.
inline void* allocate_numa_interleaved(std::size_t bytes, std::size_t bytes_per_chunk = 0) {
  return allocate_numa_interleaved(bytes, info::numa_nodes(), bytes_per_chunk);
}

// Returns such memory to the system. `bytes` is the number with which it was allocated. Does
// nothing for nullptr.
inline void deallocate_numa_interleaved(void* memory, std::size_t bytes) {
  detail::deallocate_interleaved(memory, bytes);
}

}  // namespace corbel

#endif  // CORBEL_NUMA_ALLOCATION_HPP
