// SPDX-License-Identifier: Apache-2.0
// Tests the test: the C library's malloc with one fault, chosen by CORBEL_BROKEN. The stress test
// must find every fault. Nothing is freed, because a run ends with the first finding.
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "under_test.hpp"

namespace corbel::stress {
namespace {

bool broken(const char* fault) {
  static const char* chosen = std::getenv("CORBEL_BROKEN");
  return chosen != nullptr && std::strcmp(chosen, fault) == 0;
}

bool now_and_then() {
  static std::atomic<unsigned> calls{0};
  // relaxed: a count
  return calls.fetch_add(1, std::memory_order_relaxed) % 100 == 99;
}

std::atomic<char*> previous{nullptr};

// Blocks start 48 bytes apart and claim to be longer.
constexpr std::size_t kOverlapUsable = 1024;
alignas(16) char overlapping[1U << 20];
std::atomic<std::size_t> overlapping_used{0};

char* next_overlapping() {
  // relaxed: a count
  const std::size_t used = overlapping_used.fetch_add(48, std::memory_order_relaxed);
  return overlapping + used % (sizeof overlapping / 2);
}

bool is_overlapping(const char* block) {
  return block >= overlapping && block < overlapping + sizeof overlapping;
}

void* allocate(std::size_t size) {
  if (size > SIZE_MAX / 2 && broken("overflow")) return std::malloc(16);
  if (size > SIZE_MAX / 2 && broken("no-errno")) {
    errno = 0;
    return nullptr;
  }
  char* block = static_cast<char*>(std::malloc(size));
  if (block == nullptr || size < 64) return block;
  // acq_rel: the previous block may be filled by another thread
  char* other = previous.exchange(block, std::memory_order_acq_rel);
  if (other == nullptr || !now_and_then()) return block;
  if (broken("same-block-twice")) return other;
  if (broken("overlap") && size < kOverlapUsable) return next_overlapping();
  if (broken("link-in-live-block")) std::memset(other + 40, 0, 8);
  if (broken("misaligned")) return block + 8;
  return block;
}

void* allocate_zeroed(std::size_t count, std::size_t size) {
  if (broken("overflow-calloc")) return std::malloc(count * size);
  char* block = static_cast<char*>(std::calloc(count, size));
  if (block != nullptr && broken("not-zeroed") && now_and_then() && count * size > 0) {
    block[count * size - 1] = 1;
  }
  return block;
}

std::size_t usable_size(void* block) {
  if (is_overlapping(static_cast<char*>(block))) return kOverlapUsable;
  const std::size_t size = malloc_usable_size(block);
  return broken("usable-too-small") && now_and_then() && size > 0 ? size - size / 2 - 1 : size;
}

void* reallocate(void* block, std::size_t size) {
  const std::size_t old = usable_size(block);
  char* moved = static_cast<char*>(std::malloc(size));
  if (moved == nullptr) return nullptr;
  std::size_t kept = old < size ? old : size;
  if (broken("lost-tail") && now_and_then() && kept > 0) --kept;
  std::memcpy(moved, block, kept);
  return moved;
}

void* allocate_aligned(std::size_t size, std::size_t alignment) {
  if (broken("alignment-ignored") && alignment > 16 && now_and_then()) {
    return static_cast<char*>(memalign(alignment, size + 16)) + 16;
  }
  return memalign(alignment, size);
}

std::size_t live_bytes() {
  static std::size_t count = 0;
  return broken("leak") ? count += 16 : 0;
}

}  // namespace

AllocatorUnderTest allocator_under_test() {
  AllocatorUnderTest functions{};
  functions.name = "broken";
  functions.allocate = allocate;
  functions.allocate_zeroed = allocate_zeroed;
  functions.reallocate = reallocate;
  functions.allocate_aligned = allocate_aligned;
  functions.deallocate = [](void*) {};
  functions.usable_size = usable_size;
  functions.live_bytes = live_bytes;
  return functions;
}

}  // namespace corbel::stress
