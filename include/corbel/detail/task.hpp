// SPDX-License-Identifier: Apache-2.0
// Tasks, and the part of a thread's data that code inlined into programs uses. The rest is in
// src/sched. Not for programs to include.
#ifndef CORBEL_DETAIL_TASK_HPP
#define CORBEL_DETAIL_TASK_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <corbel/detail/config.hpp>
#include <corbel/detail/context_node.hpp>
#include <corbel/detail/deque.hpp>

namespace corbel {
namespace detail {

struct thread_data;
struct group_task;

// A task. It is stored in a stack frame of the code that spawned it, or in a block of its own,
// which `run` frees.
struct task_base {
  // Runs the task; if `cancelled`, does only what must be done for a task that does not run. Never
  // throws: exceptions of the program go into the task's context. May return a task that the same
  // thread runs next (bypass).
  using function = task_base* (*)(task_base* self, thread_data& thread, bool cancelled);

  function run;
  context_node* context;

  task_base() = default;
  explicit task_base(function f) : run(f) {}
};

// The memory and the fences of the deques.
struct deque_system {
  static constexpr int kFirstLength = 256;
  CORBEL_EXPORT static void* allocate(std::size_t bytes);
  CORBEL_EXPORT static void deallocate(void* block) noexcept;
  CORBEL_EXPORT static void process_barrier() noexcept;
  static void compiler_barrier() { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static constexpr int kMaxPauses = 128;  // 3 us
  static void pause() { cpu_pause(); }
  // Only keeps stores to members of `object` before loads of others. The compiler may keep
  // everything else in registers, which matters in a loop.
  template <typename T>
  static void compiler_barrier(T& object) {
#if defined(__GNUC__)
    __asm__ volatile("" : "+m"(object));
#else
    static_cast<void>(object);
    compiler_barrier();
#endif
  }
};

template <typename T>
using plain_atomic = std::atomic<T>;

using task_deque = basic_deque<task_base, plain_atomic, deque_system>;

// A thread's cache of free blocks for tasks. One thread may free what another allocated: the block
// stays in the cache of the thread that frees it, up to a limit. Several blocks at a time come from
// and go to the pool of all threads (src/sched/core/block_pool.hpp).
struct block_cache {
  static constexpr std::size_t kStep = 64, kClasses = 4;
  static constexpr std::size_t kMaxBytes = 64 << 10;  // per class

  // The size of a list is stored in its first block. A separate counter would be read and written
  // by every allocation and deallocation, each of which would wait for the one before.
  struct block {
    block* next;
    std::size_t bytes;  // in the list from here on
  };
  block* lists[kClasses] = {};

  static constexpr std::size_t class_of(std::size_t bytes) { return (bytes - 1) / kStep; }

  // Takes a block of class c; nullptr if there is none.
  void* take(std::size_t c) {
    block* const b = lists[c];
    if (CORBEL_LIKELY(b != nullptr)) lists[c] = b->next;
    return b;
  }

  // Puts a block of class c into the cache; returns false if the cache is full.
  bool keep(void* memory, std::size_t c) {
    block* const first = lists[c];
    const std::size_t bytes = first == nullptr ? 0 : first->bytes;
    if (CORBEL_UNLIKELY(bytes >= kMaxBytes)) return false;
    lists[c] = ::new (memory) block{first, bytes + (c + 1) * kStep};
    return true;
  }
};

struct classic_record;

// The state of a stack that concerns classic tasks (corbel/classic/task.hpp). A thread that
// switches stacks saves it with the stack.
struct classic_position {
  // What happens to the running task when its execute() returns. Not stored in the task, which
  // another thread may already run by then.
  enum after_type : std::uint8_t { kEnds, kKept, kReexecutes, kContinuesSafely };

  classic_record* running = nullptr;  // the innermost task
  classic_record* awaited = nullptr;  // the innermost one that waits for its children
  after_type after = kEnds;
};

// The data of a thread that inlined code reads and writes, always in the thread itself.
struct thread_data {
  task_deque* tasks = nullptr;
  context_node* context = nullptr;  // of the running task; never nullptr
  const std::atomic<std::uint64_t>* cancellations = nullptr;
  // The arena's wake flag. Not 0: a parked thread wants to know of new tasks.
  const std::atomic<std::uint32_t>* wake_flag = nullptr;
  // The number of threads that sleep until something ends; see notify_waiters.
  const std::atomic<std::uint32_t>* waiting = nullptr;
  classic_position classic;
  const task_base* arrived = nullptr;  // the task about to run, if it comes from another thread
  block_cache blocks;
  void* trace = nullptr;            // the trace buffer of src/sched/trace, if it is traced
  group_task* running = nullptr;    // the innermost group task
  bool has_floating_point = false;  // runs with settings of a context, not those of its arena
  // Has further stacks, those of suspended tasks; or is traced. Then every wait ends in wait_until.
  bool has_suspended_stacks = false;

  // Returns whether the node is cancelled: its tasks should not start any more.
  bool is_cancelled(context_node& node) const {
    return CORBEL_UNLIKELY(!node.is_current(*cancellations)) && find_cancelled(node);
  }
};

// This thread; nullptr before its first use of the library.
CORBEL_LIBRARY_THREAD_VARIABLE(CORBEL_INITIAL_EXEC, thread_data*, this_thread_data,
                               own_thread_data);

// Makes the calling thread an external thread with an arena of its own, which workers join.
CORBEL_EXPORT thread_data& attach_thread();

inline thread_data& current_thread() {
  thread_data* const thread = own_thread_data();
  return CORBEL_LIKELY(thread != nullptr) ? *thread : attach_thread();
}

// Called after a push if the wake flag was set: takes the flag, and unparks a thread or requests a
// worker.
CORBEL_EXPORT void signal_new_task(thread_data& thread) noexcept;

// Wakes the threads that wait for the end of the object at `key`.
CORBEL_EXPORT void notify(const void* key) noexcept;

// Makes a task available to other threads. If none takes it, this thread runs it when it waits. The
// task's context must have been set.
inline void spawn(thread_data& thread, task_base& t) {
  thread.tasks->push(&t);
  deque_system::compiler_barrier();
  // relaxed: a thread that parks sets the wake flag, passes a process barrier and then looks for
  // tasks. Either the push comes before that barrier and the thread finds the task, or this load
  // comes after the barrier and sees the flag.
  if (CORBEL_UNLIKELY(thread.wake_flag->load(std::memory_order_relaxed) != 0))
    signal_new_task(thread);
}

// Called after the store that ends the object at `key`, which may have been destroyed by now.
inline void notify_waiters(thread_data& thread, const void* key) {
  deque_system::compiler_barrier();
  // relaxed: a thread that goes to sleep counts itself in `waiting`, passes a process barrier and
  // then looks at the object. Either the store comes before that barrier and the thread sees it, or
  // this load comes after the barrier and sees the count.
  if (CORBEL_UNLIKELY(thread.waiting->load(std::memory_order_relaxed) != 0)) notify(key);
}

// Runs `first` and the tasks that each task returns to run next, in a thread that is not traced.
inline void run_untraced(thread_data& thread, task_base* first) {
  context_node* const outer = thread.context;
  do {
    thread.context = first->context;
    first = first->run(first, thread, thread.is_cancelled(*first->context));
  } while (first != nullptr);
  thread.context = outer;
}

// run_untraced for any thread.
CORBEL_EXPORT void run_task(thread_data& thread, task_base* first) noexcept;

// run_task for a task of any context: sets the floating-point settings of the context.
CORBEL_EXPORT void run_any(thread_data& thread, task_base* first) noexcept;

// Runs tasks of this thread, then of others, until done(key) is true. Never throws.
CORBEL_EXPORT void wait_until(thread_data& thread, const void* key,
                              bool (*done)(const void* key)) noexcept;

// The inlined beginning of a wait: runs tasks of this thread, the newest first, until is_done() is
// true or there is no task left. Fast for tasks of `group`, for which the thread waits. Returns
// whether the wait has ended; false also if the thread has suspended stacks or is traced, which
// wait_until handles.
template <typename Done>
inline bool run_own(thread_data& thread, context_node& group, const Done& is_done) {
  // wait_until checks for held locks and records the wait.
  if (CORBEL_USE_DEBUG || CORBEL_UNLIKELY(thread.trace != nullptr)) return false;
  // relaxed: set before the group had tasks
  const bool sets_floating_point =
      thread.has_floating_point ||
      (group.state.load(std::memory_order_relaxed) & context_node::kFloatingPoint) != 0;
  do {
    task_base* const task = thread.tasks->pop_fast();
    if (task == nullptr) return false;
    if (CORBEL_LIKELY(task->context == &group && !sets_floating_point)) {
      run_untraced(thread, task);
    } else {
      run_any(thread, task);
    }
  } while (!is_done());
  return !thread.has_suspended_stacks;
}

// Returns a block of `bytes` bytes for a task, aligned to a cache line. Throws bad_alloc.
CORBEL_EXPORT void* allocate_block(std::size_t bytes);
CORBEL_EXPORT void deallocate_block(void* block, std::size_t bytes) noexcept;

// Like allocate_block, through the thread's cache.
inline void* allocate_task(thread_data& thread, std::size_t bytes) {
  const std::size_t c = block_cache::class_of(bytes);
  if (CORBEL_LIKELY(c < block_cache::kClasses)) {
    if (void* const b = thread.blocks.take(c)) return b;
    bytes = (c + 1) * block_cache::kStep;
  }
  return allocate_block(bytes);
}

inline void deallocate_task(thread_data& thread, void* memory, std::size_t bytes) noexcept {
  const std::size_t c = block_cache::class_of(bytes);
  if (CORBEL_LIKELY(c < block_cache::kClasses)) {
    if (CORBEL_LIKELY(thread.blocks.keep(memory, c))) return;
    bytes = (c + 1) * block_cache::kStep;
  }
  deallocate_block(memory, bytes);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_TASK_HPP
