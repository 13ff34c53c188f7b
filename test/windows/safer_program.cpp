// SPDX-License-Identifier: Apache-2.0
// What TBB's own malloc proxy calls of the allocator for blocks of the C library: on Windows it
// hands over pairs of functions.
#include <corbel/malloc.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "checks.hpp"

extern "C" {
void* __TBB_malloc_safer_realloc(void* block, std::size_t size, void* original);
void* __TBB_malloc_safer_aligned_realloc(void* block, std::size_t size, std::size_t alignment,
                                         void* original);
}

namespace {

int releases = 0;
std::size_t seen_alignment = 0;

void release(void* block) {
  ++releases;
  std::free(block);
}
std::size_t size_of(void*) { return 40; }
std::size_t size_of_aligned(void*, std::size_t alignment, std::size_t offset) {
  seen_alignment = alignment + offset;
  return 40;
}

struct Original {
  void (*free)(void*);
  std::size_t (*size)(void*);
};
struct AlignedOriginal {
  void (*free)(void*);
  std::size_t (*size)(void*, std::size_t, std::size_t);
};

void* block_of_40() {
  void* const block = std::malloc(40);
  std::memset(block, 7, 40);
  return block;
}

bool holds(const void* block, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<const char*>(block)[i] != 7) return false;
  }
  return true;
}

}  // namespace

int main() {
  Original original{release, size_of};
  for (const std::size_t size : {20, 40, 100000}) {
    releases = 0;
    void* const moved = __TBB_malloc_safer_realloc(block_of_40(), size, &original);
    check(scalable_msize(moved) >= size && holds(moved, size < 40 ? size : 40), "realloc");
    check(releases == 1, "the block of the C library is freed");
    scalable_free(moved);
  }
  releases = 0;
  check(__TBB_malloc_safer_realloc(block_of_40(), 0, &original) == nullptr && releases == 1,
        "realloc to nothing");
  void* const kept = block_of_40();
  check(__TBB_malloc_safer_realloc(kept, SIZE_MAX / 2, &original) == nullptr && holds(kept, 40) &&
            releases == 1,
        "realloc to too much");
  Original unknown{release, nullptr};
  check(__TBB_malloc_safer_realloc(kept, 50, &unknown) == nullptr && releases == 1,
        "realloc of a block whose size is not known");

  AlignedOriginal aligned{release, size_of_aligned};
  void* const moved = __TBB_malloc_safer_aligned_realloc(kept, 100, 256, &aligned);
  check(reinterpret_cast<std::size_t>(moved) % 256 == 0 && holds(moved, 40), "aligned realloc");
  check(releases == 2 && seen_alignment == 256, "the size is asked for with the alignment");
  scalable_free(moved);
  return report();
}
