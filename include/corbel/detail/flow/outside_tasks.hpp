// SPDX-License-Identifier: Apache-2.0
// The tasks that threads outside of a graph's arena submit. Not for programs to include.
//
// To enqueue a task in an arena takes locks and may wake a thread. So such tasks are collected, and
// one collecting task is enqueued for all that come before it runs; it spawns them.
#ifndef CORBEL_DETAIL_FLOW_OUTSIDE_TASKS_HPP
#define CORBEL_DETAIL_FLOW_OUTSIDE_TASKS_HPP

#include <atomic>

#include <corbel/detail/flow/graph_task.hpp>
#include <corbel/detail/succeeds.hpp>
#include <corbel/task_arena.hpp>

namespace corbel {
namespace detail {

// A list that any thread adds to, and that is taken as a whole. Task has a member `next`.
//
// The thread that finds the list empty must have it taken, once: each list that is not empty has
// exactly one take() to come.
template <typename Task, template <typename> class Atomic = plain_atomic>
class outside_list {
 public:
  // Adds a task. Returns whether the list was empty: then the caller must have it taken.
  bool add(Task& task) {
    Task* newest = newest_.load(std::memory_order_relaxed);  // relaxed: compared again
    do {
      task.next = newest;
      // (1) release: publishes the task to (2), also by way of later additions, which all read the
      // value of the one before. relaxed on failure: nothing is read
    } while (!newest_.compare_exchange_weak(newest, &task, std::memory_order_release,
                                            std::memory_order_relaxed));
    return newest == nullptr;
  }

  // Takes all tasks, the newest first.
  Task* take() {
    return newest_.exchange(nullptr, std::memory_order_acquire);  // (2) acquire: see (1)
  }

 private:
  Atomic<Task*> newest_{nullptr};
};

// The list of a graph, and the collecting task, which is a part of it. The task is in the arena's
// queue at most once: it is enqueued again only after it has taken the list.
class outside_tasks : private task_base {
 public:
  outside_tasks() : task_base(&run) {}
  outside_tasks(const outside_tasks&) = delete;
  outside_tasks& operator=(const outside_tasks&) = delete;

  // The context of the graph's tasks, before any of them is added.
  void set_context(context_node& node) { context = &node; }

  // Passes on a task, which is counted, to the threads of the arena.
  void submit(thread_data& thread, arena_handle& arena, graph_task& task) {
    if (list_.add(task)) enqueue(thread, arena);
  }

 private:
  // Without memory in the arena's queue, the tasks run here.
  CORBEL_NOINLINE void enqueue(thread_data& thread, arena_handle& arena) {
    if (CORBEL_LIKELY(succeeds([&] { enqueue_in(arena, *this); }))) return;
    for (graph_task* t = list_.take(); t != nullptr;) {
      graph_task* const older = t->next;
      run_any(thread, t);
      t = older;
    }
  }

  // Spawns all but the oldest task, and runs them in the order of their age, unless other threads
  // take some. It leaves none in the deque: a thread of the program may not come back to them, and
  // what is enqueued must run even if the arena gets no worker otherwise.
  static task_base* run(task_base* self, thread_data& thread, bool) {
    graph_task* t = static_cast<outside_tasks*>(self)->list_.take();
    if (t->next == nullptr) return t;
    while (graph_task* const older = t->next) {
      if (CORBEL_UNLIKELY(!try_spawn(thread, *t))) run_any(thread, t);
      t = older;
    }
    task_base* next = t;
    do {
      run_any(thread, next);
      next = thread.tasks->pop();
    } while (next != nullptr);
    return nullptr;
  }

  outside_list<graph_task> list_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_OUTSIDE_TASKS_HPP
