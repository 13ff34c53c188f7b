// SPDX-License-Identifier: Apache-2.0
// Tasks, and what else belongs to them, in blocks of their own. Not for programs to include.
#ifndef CORBEL_DETAIL_NEW_TASK_HPP
#define CORBEL_DETAIL_NEW_TASK_HPP

#include <new>
#include <utility>

#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// A T in a block of its own, aligned to 64 bytes at most.
template <typename T, typename... Arguments>
inline T* new_task(worker& w, Arguments&&... arguments) {
  static_assert(alignof(T) <= kCacheLine, "blocks for tasks are aligned to cache lines");
  struct block {
    worker& owner;
    void* memory;
    ~block() {
      if (memory != nullptr) deallocate_task(owner, memory, sizeof(T));
    }
  } kept{w, allocate_task(w, sizeof(T))};
  T* const task = ::new (kept.memory) T(std::forward<Arguments>(arguments)...);
  kept.memory = nullptr;
  return task;
}

template <typename T>
inline void delete_task(worker& w, T* task) noexcept {
  task->~T();
  deallocate_task(w, task, sizeof(T));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_NEW_TASK_HPP
