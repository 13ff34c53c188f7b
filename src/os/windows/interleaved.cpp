// SPDX-License-Identifier: Apache-2.0
// Memory whose pages lie on several memory nodes in turn. The system takes a node for a whole
// reservation only, and chunks may be smaller than one. But a page that is touched first comes from
// the node on which the thread runs: so the calling thread visits each node and touches its chunks.
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

// Touches every page of each chunk whose turn it is: `first`, and each `count`-th after it.
void touch(char* memory, std::size_t size, std::size_t chunk, std::size_t first,
           std::size_t count) {
  const std::size_t page = page_size();
  for (std::size_t at = first * chunk; at < size; at += count * chunk) {
    const std::size_t end = chunk < size - at ? at + chunk : size;
    for (std::size_t p = at; p < end; p += page) {
      *static_cast<volatile char*>(memory + p) = 0;
    }
  }
}

}  // namespace

void* map_interleaved(std::size_t size, const int* nodes, std::size_t count, std::size_t chunk) {
  LastErrorGuard guard;
  char* const memory =
      static_cast<char*>(VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  int some[2];
  if (memory == nullptr || read_memory_nodes(some, 2) < 2) return memory;
  ProcessorSet before;
  if (!get_processors(&before)) return memory;
  for (std::size_t i = 0; i < count; ++i) {
    ProcessorSet of_node;
    for (std::uint64_t& word : of_node.words) word = ~std::uint64_t{0};
    keep_processors(&of_node, nodes[i], -1, -1);
    set_processors(of_node);
    touch(memory, size, chunk, i, count);
  }
  set_processors(before);
  return memory;
}

void unmap_interleaved(void* memory, std::size_t) {
  LastErrorGuard guard;
  VirtualFree(memory, 0, MEM_RELEASE);
}

}  // namespace corbel::os
