// SPDX-License-Identifier: Apache-2.0
// The stress test on Corbel's interface. The test's own bookkeeping stays on the system's malloc,
// so that live bytes can be counted exactly and sanitizers see everything.
#include <corbel/malloc.h>

#include "alloc/allocator.hpp"
#include "alloc/map/footprint.hpp"
#include "under_test.hpp"

namespace corbel::stress {

AllocatorUnderTest allocator_under_test() {
  AllocatorUnderTest functions{};
  functions.name = "corbel";
  functions.allocate = [](std::size_t size) { return alloc::allocate(size); };
  functions.allocate_zeroed = [](std::size_t n, std::size_t size) {
    return alloc::allocate_zeroed(n, size);
  };
  functions.reallocate = [](void* block, std::size_t size) {
    return alloc::reallocate(block, size);
  };
  functions.allocate_aligned = [](std::size_t size, std::size_t alignment) {
    return alloc::allocate_aligned(size, alignment);
  };
  functions.deallocate = [](void* block) { alloc::deallocate(block); };
  functions.usable_size = [](void* block) { return alloc::usable_size(block); };
  functions.trim = [] { alloc::trim(0); };
  functions.live_bytes = [] { return alloc::stats().live; };
  functions.set_soft_limit = [](std::size_t bytes) { corbel_set_heap_limit(bytes); };
  functions.set_hard_limit = [](std::size_t bytes) { corbel_set_heap_hard_limit(bytes); };
  functions.on_limit = [](int (*callback)(void*, std::size_t), void* context) {
    corbel_on_limit(callback, context);
  };
  functions.footprint = [] { return alloc::footprint.bytes(); };
  functions.has_helper_thread = true;
  return functions;
}

}  // namespace corbel::stress
