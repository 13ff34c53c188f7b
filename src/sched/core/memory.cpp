// SPDX-License-Identifier: Apache-2.0
// Memory for tasks and deques.
#include <corbel/detail/task.hpp>

#include <new>

#include "os/os.hpp"

namespace corbel::detail {

void* allocate_block(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t{kCacheLine});
}

void deallocate_block(void* block, std::size_t bytes) noexcept {
  ::operator delete(block, bytes, std::align_val_t{kCacheLine});
}

void* deque_system::allocate(std::size_t bytes) { return ::operator new(bytes); }

void deque_system::deallocate(void* block) noexcept { ::operator delete(block); }

void deque_system::process_barrier() noexcept { os::process_barrier(); }

}  // namespace corbel::detail
