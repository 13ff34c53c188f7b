// SPDX-License-Identifier: Apache-2.0
#include "os/optional.hpp"

#include <atomic>

#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

// Decided once: a block is freed by the library that it comes from.
HMODULE find_allocator() {
  static HMODULE const none = reinterpret_cast<HMODULE>(1);
  // relaxed: a handle, of a library that is never unloaded
  static constinit std::atomic<HMODULE> allocator{nullptr};
  HMODULE found = allocator.load(std::memory_order_relaxed);
  if (found == nullptr) {
    HMODULE fresh = GetModuleHandleA("corbelmalloc.dll");
    if (fresh == nullptr) fresh = GetModuleHandleA("tbbmalloc.dll");
    if (fresh == nullptr) fresh = none;
    // relaxed: as above. The first thread decides.
    if (allocator.compare_exchange_strong(found, fresh, std::memory_order_relaxed)) found = fresh;
  }
  return found == none ? nullptr : found;
}

}  // namespace

const void* find_in_allocator(const char* name) {
  LastErrorGuard guard;
  const HMODULE allocator = find_allocator();
  return allocator == nullptr ? nullptr
                              : reinterpret_cast<const void*>(GetProcAddress(allocator, name));
}

}  // namespace corbel::os
