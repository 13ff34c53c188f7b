// SPDX-License-Identifier: Apache-2.0
// The unit that is pushed, stolen and run, and the thread that does it, as far as code compiled
// into programs must know them. The rest is in src/sched.
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

struct worker;
struct group_task;

// One task. It lies in a frame of whoever spawned it or in a block of its own; to give it back is
// the business of `run`.
struct task_base {
  // Does the task, or only what must be done in its place when its group was `cancelled`. Never
  // throws: exceptions of the program go into the task's context. May return a task to be done
  // next by the same thread (scheduler bypass).
  using function = task_base* (*)(task_base* self, worker& w, bool cancelled);

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
};

template <typename T>
using plain_atomic = std::atomic<T>;

using task_deque = basic_deque<task_base, plain_atomic, deque_system>;

// Blocks for tasks that a thread has ready. What one thread allocates another may free: it keeps
// the block, up to an amount.
struct block_cache {
  static constexpr std::size_t kStep = 64, kClasses = 4;
  static constexpr std::size_t kMostBytes = 64 << 10;  // of each class

  // How much a list holds stands in its first block. A counter beside the list would be read and
  // written by every allocation and deallocation, each of which would wait for the one before.
  struct block {
    block* next;
    std::size_t bytes;  // in the list from here on
  };
  block* lists[kClasses] = {};

  static constexpr std::size_t class_of(std::size_t bytes) { return (bytes - 1) / kStep; }

  // nullptr if there is none.
  void* take(std::size_t c) {
    block* const b = lists[c];
    if (CORBEL_LIKELY(b != nullptr)) lists[c] = b->next;
    return b;
  }

  // False if there are enough.
  bool keep(void* memory, std::size_t c) {
    block* const first = lists[c];
    const std::size_t bytes = first == nullptr ? 0 : first->bytes;
    if (CORBEL_UNLIKELY(bytes >= kMostBytes)) return false;
    lists[c] = ::new (memory) block{first, bytes + (c + 1) * kStep};
    return true;
  }
};

struct classic_record;

// Where a stack is with respect to classic tasks (corbel/task.hpp). A thread that leaves a stack
// keeps this with it.
struct classic_position {
  // What becomes of the task that runs when its execute() returns. It is not kept in the task:
  // another thread may have it by then.
  enum after_type : std::uint8_t { kEnds, kKept, kReexecutes, kContinuesSafely };

  classic_record* running = nullptr;  // the innermost task
  classic_record* awaited = nullptr;  // the innermost one that waits for its children
  after_type after = kEnds;
};

// A thread while it may run tasks. Inlined code reads and writes these fields; only the thread
// itself does.
struct worker {
  task_deque* tasks = nullptr;
  context_node* context = nullptr;  // of the task being run; never nullptr
  const std::atomic<std::uint64_t>* cancellations = nullptr;
  const std::atomic<std::uint32_t>* bell = nullptr;  // not 0: somebody wants to hear of new tasks
  const std::atomic<std::uint32_t>* waiting = nullptr;  // not 0: somebody sleeps until a count ends
  classic_position classic;
  const task_base* arrived = nullptr;  // the task about to run, if it comes from another thread
  block_cache blocks;
  void* trace = nullptr;            // what src/sched/trace.hpp keeps of the thread, if anything
  group_task* running = nullptr;    // the innermost one of a task group
  bool has_floating_point = false;  // runs with settings of a context, not those of its arena
  bool has_stacks = false;          // besides its own: of suspended tasks

  // Whether the tasks of the node should not start any more.
  bool is_cancelled(context_node& node) const {
    return CORBEL_UNLIKELY(!node.is_current(*cancellations)) && find_cancelled(node);
  }
};

// This thread; nullptr before its first use of the library.
extern CORBEL_EXPORT CORBEL_INITIAL_EXEC __thread worker* this_worker;

// Makes the calling thread a worker of an arena of its own, in which the library's threads help it.
CORBEL_EXPORT worker& attach_thread();

inline worker& current_worker() {
  worker* const w = this_worker;
  return CORBEL_LIKELY(w != nullptr) ? *w : attach_thread();
}

// Tells those who want to hear of new tasks.
CORBEL_EXPORT void ring(worker& w) noexcept;

// Tells those who sleep until what lies at `key` has come to its end.
CORBEL_EXPORT void notify(const void* key) noexcept;

// Makes a task available to other threads; if none takes it, this one runs it when it waits. The
// context must have been set.
inline void spawn(worker& w, task_base& t) {
  w.tasks->push(&t);
  deque_system::compiler_barrier();
  // relaxed: whoever goes to sleep stores the bell, passes a process barrier and then looks for
  // tasks. Either the push lies before that barrier and is seen, or this load lies behind it.
  if (CORBEL_UNLIKELY(w.bell->load(std::memory_order_relaxed) != 0)) ring(w);
}

// Behind the store that ends what lies at `key`, whose memory may be gone by now.
inline void notify_waiters(worker& w, const void* key) {
  deque_system::compiler_barrier();
  // relaxed: as in spawn, with the sleeper's own count in place of the bell
  if (CORBEL_UNLIKELY(w.waiting->load(std::memory_order_relaxed) != 0)) notify(key);
}

// Runs `first` and what it leads to, in a thread that is not traced.
inline void run_untraced(worker& w, task_base* first) {
  context_node* const outer = w.context;
  do {
    w.context = first->context;
    first = first->run(first, w, w.is_cancelled(*first->context));
  } while (first != nullptr);
  w.context = outer;
}

// The same in any thread.
CORBEL_EXPORT void run_task(worker& w, task_base* first) noexcept;

// The same for a task that need not belong to the context that the thread is in.
CORBEL_EXPORT void run_any(worker& w, task_base* first) noexcept;

// Runs tasks until `done(key)`: those of this thread, then others'. Never throws.
CORBEL_EXPORT void wait_until(worker& w, const void* key, bool (*done)(const void* key)) noexcept;

// For a wait that begins: runs tasks of this thread, the newest first, until is_done(), which it
// returns, or it has none. Those of `group`, whose wait it is, cost little. False also where the
// thread has something else to do at the end of a wait.
template <typename Done>
inline bool run_own(worker& w, context_node& group, const Done& is_done) {
  if (CORBEL_USE_DEBUG || CORBEL_UNLIKELY(w.trace != nullptr))
    return false;  // wait_until takes notice
  // relaxed: set before the group has tasks
  const bool sets_floating_point =
      w.has_floating_point ||
      (group.state.load(std::memory_order_relaxed) & context_node::kFloatingPoint) != 0;
  do {
    task_base* const task = w.tasks->pop_fast();
    if (task == nullptr) return false;
    if (CORBEL_LIKELY(task->context == &group && !sets_floating_point)) {
      run_untraced(w, task);
    } else {
      run_any(w, task);
    }
  } while (!is_done());
  return !w.has_stacks;
}

// A block of `bytes` for a task, aligned to 64 bytes. Throws bad_alloc.
CORBEL_EXPORT void* allocate_block(std::size_t bytes);
CORBEL_EXPORT void deallocate_block(void* block, std::size_t bytes) noexcept;

inline void* allocate_task(worker& w, std::size_t bytes) {
  const std::size_t c = block_cache::class_of(bytes);
  if (CORBEL_LIKELY(c < block_cache::kClasses)) {
    if (void* const b = w.blocks.take(c)) return b;
    bytes = (c + 1) * block_cache::kStep;
  }
  return allocate_block(bytes);
}

inline void deallocate_task(worker& w, void* memory, std::size_t bytes) noexcept {
  const std::size_t c = block_cache::class_of(bytes);
  if (CORBEL_LIKELY(c < block_cache::kClasses)) {
    if (CORBEL_LIKELY(w.blocks.keep(memory, c))) return;
    bytes = (c + 1) * block_cache::kStep;
  }
  deallocate_block(memory, bytes);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_TASK_HPP
