// SPDX-License-Identifier: Apache-2.0
#include <corbel/numa_allocation.hpp>

#include <algorithm>

#include "os/os.hpp"

namespace corbel::detail {

void* allocate_interleaved(std::size_t bytes, const numa_node_id* nodes, std::size_t count,
                           std::size_t bytes_per_chunk) noexcept {
  const std::size_t page = os::page_size();
  const std::size_t chunk = bytes_per_chunk == 0 ? page : bytes_per_chunk;
  if (bytes == 0 || count == 0 || chunk % page != 0) return nullptr;
  // Where the system does not report its nodes, info::numa_nodes() returns the one node -1.
  static constexpr numa_node_id kOnlyNode = 0;
  if (count == 1 && nodes[0] == kAutomatic) nodes = &kOnlyNode;
  const auto exists = [](numa_node_id n) { return n >= 0 && unsigned(n) < os::kMaxMemoryNodes; };
  if (!std::all_of(nodes, nodes + count, exists)) return nullptr;
  return os::map_interleaved(bytes, nodes, count, chunk);
}

void deallocate_interleaved(void* memory, std::size_t bytes) noexcept {
  if (memory != nullptr) os::unmap_interleaved(memory, bytes);
}

}  // namespace corbel::detail
