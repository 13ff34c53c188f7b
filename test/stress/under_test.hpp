// SPDX-License-Identifier: Apache-2.0
// The allocator under test as a set of functions: Corbel's own interface, the process's malloc (any
// allocator, by LD_PRELOAD), or an allocator that is broken on purpose.
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
  // The next two may be nullptr: not every allocator can trim or count.
  void (*trim)();
  std::size_t (*live_bytes)();
  // All four or none: not every allocator has limits.
  void (*set_soft_limit)(std::size_t bytes);  // 0 removes it, also below
  void (*set_hard_limit)(std::size_t bytes);
  void (*on_limit)(int (*callback)(void*, std::size_t), void* context);
  std::size_t (*footprint)();  // what the limits bound
  // Whether a thread of its own may still change these figures when all others stand still.
  bool has_helper_thread;
};

// Defined by the under_test_*.cpp that is linked in.
AllocatorUnderTest allocator_under_test();

}  // namespace corbel::stress
