// SPDX-License-Identifier: Apache-2.0
// The allocator that the stress test works on, as a set of functions: Corbel's own interface, the
// process's malloc (which may be anybody's, by LD_PRELOAD), or one that is broken on purpose.
#pragma once

#include <cstddef>

namespace corbel::stress {

struct AllocatorUnderTest {
  const char* name;
  void* (*allocate)(std::size_t size);
  void* (*allocate_zeroed)(std::size_t count, std::size_t size);
  void* (*reallocate)(void* block, std::size_t size);
  void* (*allocate_aligned)(std::size_t size, std::size_t alignment);
  void (*deallocate)(void* block);
  std::size_t (*usable_size)(void* block);
  // The next two may be nullptr: an allocator need not be able to trim or to count.
  void (*trim)();
  std::size_t (*live_bytes)();
  // Nor need it know limits; all four or none.
  void (*set_soft_limit)(std::size_t bytes);  // 0 removes it, as below
  void (*set_hard_limit)(std::size_t bytes);
  void (*on_limit)(int (*callback)(void*, std::size_t), void* context);
  std::size_t (*footprint)();  // what the limits are about
};

// Defined by the one under_test_*.cpp that is linked in.
AllocatorUnderTest allocator_under_test();

}  // namespace corbel::stress
