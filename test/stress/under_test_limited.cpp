// SPDX-License-Identifier: Apache-2.0
// Tests the variants with limits: the C library's malloc, with limits that are kept by counting
// live bytes. The variants must pass on it, and must find the fault that CORBEL_BROKEN chooses.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "under_test.hpp"

namespace corbel::stress {
namespace {

using Callback = int (*)(void*, std::size_t);

bool broken(const char* fault) {
  static const char* chosen = std::getenv("CORBEL_BROKEN");
  return chosen != nullptr && std::strcmp(chosen, fault) == 0;
}

// relaxed unless stated otherwise: counts and settings, which order nothing here
constexpr auto kRelaxed = std::memory_order_relaxed;
std::atomic<std::size_t> committed{0}, hard_limit{0}, calls{0};
std::atomic<Callback> callback{nullptr};
std::atomic<void*> callback_context{nullptr};
thread_local bool inside_callback = false;

bool now_and_then() { return calls.fetch_add(1, kRelaxed) % 10000 == 9999; }

bool fits(std::size_t size) {
  const std::size_t limit = hard_limit.load(kRelaxed);
  return limit == 0 || committed.load(kRelaxed) + size <= limit ||
         (limit == 1 && broken("one-byte-ignored"));
}

bool called_back(std::size_t size) {
  const Callback function = callback.load(kRelaxed);
  if (function == nullptr || broken("never-called")) return false;
  if (inside_callback && !broken("callback-recursion")) return false;
  const bool outer = inside_callback;
  inside_callback = true;
  const bool again = function(callback_context.load(kRelaxed), size) != 0;
  inside_callback = outer;
  return again;
}

// Whether a request may be served. If not, sets errno.
bool admit(std::size_t size) {
  for (int tries = 0; tries < 8; ++tries) {
    if (fits(size) && !(broken("refused-for-nothing") && now_and_then())) return true;
    if (!called_back(size)) break;
  }
  errno = broken("refused-no-errno") ? 0 : ENOMEM;
  return false;
}

void* count(void* block) {
  if (block != nullptr) committed.fetch_add(malloc_usable_size(block), kRelaxed);
  return block;
}

// A block that a refused reallocate has freed, until it is allocated again; else nullptr. The C
// library does not see it as free, and from then on nothing is freed: if two threads hold a block
// and one frees it, the process could end before the test reports what it has found.
std::atomic<void*> freed_by_realloc{nullptr};
std::atomic<bool> nothing_is_freed{false};

void give_back(void* block) {
  if (!nothing_is_freed.load(kRelaxed)) std::free(block);
}

void* resized(void* block, std::size_t size) {
  if (!nothing_is_freed.load(kRelaxed)) return std::realloc(block, size);
  void* const copy = std::malloc(size);
  return copy != nullptr ? std::memcpy(copy, block, std::min(size, malloc_usable_size(block)))
                         : nullptr;
}

void* allocate(std::size_t size) {
  if (size <= SIZE_MAX / 2 && !admit(size)) return nullptr;
  // (1) acquire: with (2), sees that nothing more is freed
  void* again = freed_by_realloc.exchange(nullptr, std::memory_order_acquire);
  return count(again != nullptr && malloc_usable_size(again) >= size ? again : std::malloc(size));
}

void deallocate(void* block) {
  void* expected = block;
  if (freed_by_realloc.compare_exchange_strong(expected, nullptr, kRelaxed)) return;
  committed.fetch_sub(malloc_usable_size(block), kRelaxed);
  give_back(block);
}

void* reallocate(void* block, std::size_t size) {
  if (!admit(size)) {
    if (broken("refused-realloc-damages")) static_cast<char*>(block)[0] ^= 1;
    if (broken("refused-realloc-frees")) {
      committed.fetch_sub(malloc_usable_size(block), kRelaxed);
      nothing_is_freed.store(true, kRelaxed);
      freed_by_realloc.store(block, std::memory_order_release);  // (2) release: with (1)
    }
    return nullptr;
  }
  committed.fetch_sub(malloc_usable_size(block), kRelaxed);
  return count(resized(block, size));
}

std::size_t footprint() {
  return committed.load(kRelaxed) + (broken("footprint-stays") ? std::size_t{64} << 20 : 0);
}

void set_hard_limit(std::size_t bytes) {
  if (bytes == 0 && broken("limit-stays")) return;
  hard_limit.store(bytes, kRelaxed);
}

void set_soft_limit(std::size_t bytes) {
  if (broken("soft-limit-refuses")) set_hard_limit(bytes);
}

}  // namespace

AllocatorUnderTest allocator_under_test() {
  AllocatorUnderTest functions{};
  functions.name = "malloc with limits";
  functions.allocate = allocate;
  functions.allocate_zeroed = [](std::size_t n, std::size_t size) {
    return size > SIZE_MAX / 2 / (n + 1) || admit(n * size) ? count(std::calloc(n, size)) : nullptr;
  };
  functions.reallocate = reallocate;
  functions.allocate_aligned = [](std::size_t size, std::size_t alignment) {
    return admit(size) ? count(memalign(alignment, size)) : nullptr;
  };
  functions.deallocate = deallocate;
  functions.usable_size = malloc_usable_size;
  functions.trim = [] { malloc_trim(0); };
  functions.live_bytes = [] { return committed.load(kRelaxed); };
  functions.set_soft_limit = set_soft_limit;
  functions.set_hard_limit = set_hard_limit;
  functions.on_limit = [](Callback function, void* context) {
    callback_context.store(context, kRelaxed);
    callback.store(function, kRelaxed);
  };
  functions.footprint = footprint;
  return functions;
}

}  // namespace corbel::stress
