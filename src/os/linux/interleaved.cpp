// SPDX-License-Identifier: Apache-2.0
// Memory whose pages lie on several memory nodes in turn.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

constexpr unsigned kBits = 8 * sizeof(unsigned long);

// Each chunk becomes a mapping of its own, and a process may have 65,530 of them by default.
constexpr std::size_t kMaxChunks = 16384;

struct Nodes {
  unsigned long words[kMaxMemoryNodes / kBits] = {};

  bool has(int n) const { return (words[unsigned(n) / kBits] >> unsigned(n) % kBits & 1) != 0; }
  void add(int n) { words[unsigned(n) / kBits] |= 1UL << unsigned(n) % kBits; }
};

// Only a hint: the memory is usable wherever its pages are.
void place(char* start, std::size_t size, int policy, const Nodes& nodes) {
  // The kernel wants one bit more than the number of nodes.
  syscall(SYS_mbind, start, size, policy, nodes.words, kMaxMemoryNodes + 1, 0);
}

}  // namespace

void* map_interleaved(std::size_t size, const int* nodes, std::size_t count, std::size_t chunk) {
  ErrnoGuard guard;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* const start = static_cast<char*>(memory);
  Nodes all;
  bool repeats = false;
  for (std::size_t i = 0; i < count; ++i) {
    repeats = repeats || all.has(nodes[i]);
    all.add(nodes[i]);
  }
  // The kernel itself interleaves page by page.
  if ((chunk == page_size() && !repeats) || size / chunk >= kMaxChunks) {
    place(start, size, MPOL_INTERLEAVE, all);
    return memory;
  }
  for (std::size_t at = 0, i = 0; at < size; at += chunk, i = (i + 1) % count) {
    Nodes one;
    one.add(nodes[i]);
    place(start + at, std::min(chunk, size - at), MPOL_PREFERRED, one);
  }
  return memory;
}

void unmap_interleaved(void* memory, std::size_t size) {
  ErrnoGuard guard;
  munmap(memory, size);
}

}  // namespace corbel::os
