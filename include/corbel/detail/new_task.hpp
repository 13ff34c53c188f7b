// SPDX-License-Identifier: Apache-2.0
// Allocates tasks, and objects that belong to tasks. Not for programs to include.
#ifndef CORBEL_DETAIL_NEW_TASK_HPP
#define CORBEL_DETAIL_NEW_TASK_HPP

#include <new>
#include <utility>

#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// Constructs a T, whose alignment is at most a cache line, in a block of the thread's block cache.
// Throws bad_alloc and what the constructor throws.
template <typename T, typename... Arguments>
inline T* new_task(thread_data& thread, Arguments&&... arguments) {
  static_assert(alignof(T) <= kCacheLine, "blocks for tasks are aligned to cache lines");
  struct block {
    thread_data& owner;
    void* memory;
    ~block() {
      if (memory != nullptr) deallocate_task(owner, memory, sizeof(T));
    }
  } kept{thread, allocate_task(thread, sizeof(T))};
  T* const task = ::new (kept.memory) T(std::forward<Arguments>(arguments)...);
  kept.memory = nullptr;
  return task;
}

// Destroys and frees an object that new_task made. Any thread may call it.
template <typename T>
inline void delete_task(thread_data& thread, T* task) noexcept {
  task->~T();
  deallocate_task(thread, task, sizeof(T));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_NEW_TASK_HPP
