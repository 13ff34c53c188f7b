// SPDX-License-Identifier: Apache-2.0
// oneTBB's internal tasks, which the parallel algorithms of libstdc++ use although no specification
// has them: the names of the namespace tbb::detail::d1. Not for programs to include.
#ifndef CORBEL_DETAIL_TBB_TASK_HPP
#define CORBEL_DETAIL_TBB_TASK_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include <corbel/detail/arena_slot.hpp>
#include <corbel/detail/fork.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/new_task.hpp>
#include <corbel/detail/wait_count.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace detail {

// Returns the context of the task that this thread runs; nullptr outside of tasks.
CORBEL_EXPORT context_node* current_context_node() noexcept;

// Returns the context of the innermost task as a task_group_context. An algorithm that was called
// without a context runs in a bare node; then only the members that concern cancellation may be
// used.
inline task_group_context* current_group_context() noexcept {
  context_node* const node = current_context_node();
  return node == nullptr ? nullptr : context_access::context(*node);
}

namespace tbb_task {

using slot_id = unsigned short;
constexpr slot_id no_slot = slot_id(~0);
constexpr slot_id any_slot = slot_id(~1);

inline slot_id current_slot() {
  const int index = current_slot_index();
  return index < 0 ? no_slot : slot_id(index);
}

// Tells a task how it is run.
struct execution_data {
  task_group_context* context = nullptr;
  slot_id original_slot = no_slot;  // of the thread that spawned it
  slot_id affinity_slot = no_slot;
};

class task;
void spawn(task& t, task_group_context& context);

// A task with virtual functions. It destroys itself when it is executed or cancelled. Either
// function may return a task to run next, which may be this one.
class task : private task_base {
 public:
  task() : task_base(&run_virtual) {}
  virtual ~task() = default;

  virtual task* execute(execution_data& data) = 0;
  // Called instead of execute if the context is cancelled, and after an execute that has thrown.
  virtual task* cancel(execution_data& data) = 0;

 private:
  friend void spawn(task& t, task_group_context& context);
  friend void spawn(task& t, task_group_context& context, slot_id slot);
  friend class root_scope;

  void prepare(task_group_context& group) {
    context = &context_access::node(group);
    group_ = &group;
    spawned_by_ = current_slot();
  }

  static task_base* run_virtual(task_base* self, thread_data&, bool cancelled) {
    task& t = *static_cast<task*>(self);  // execute() and cancel() may destroy it
    execution_data data;
    data.context = t.group_;
    data.original_slot = t.spawned_by_;
    task* next = nullptr;
    bool executed = false;
    if (!cancelled) {
      call_captured(*t.context, [&] {
        next = t.execute(data);
        executed = true;
      });
    }
    if (!executed) next = t.cancel(data);
    if (next != nullptr) next->prepare(*data.context);
    return next;
  }

  task_group_context* group_ = nullptr;  // `context` as its type in the API
  slot_id spawned_by_ = no_slot;
};

inline void spawn(task& t, task_group_context& context) {
  t.prepare(context);
  detail::spawn(current_thread(), t);
}

// The slot, an affinity hint, is ignored.
inline void spawn(task& t, task_group_context& context, slot_id) { spawn(t, context); }

// The number of outstanding tasks of a wait.
class wait_context {
 public:
  explicit wait_context(std::uint32_t outstanding) : count_(outstanding) {}
  void reserve(std::uint32_t n = 1) { count_.reserve(n); }
  void release(std::uint32_t n = 1) { count_.release(current_thread(), n); }
  bool continue_execution() const { return !count_.is_done(); }

 private:
  friend class root_scope;
  wait_count count_;
};

// A scope in which a thread runs a task, or waits, in a context.
class root_scope {
 public:
  root_scope(thread_data& thread, task_group_context& context)
      : thread_(thread), use_(thread, context), switch_(thread, use_.node()) {}

  void run(task& t, task_group_context& context) {
    t.prepare(context);
    run_task(thread_, &t);
  }
  void wait(const wait_context& outstanding) {
    outstanding.count_.wait(thread_);
    if (use_.node().has_failed()) rethrow_copy(use_.node());
  }

 private:
  thread_data& thread_;
  context_use use_;
  const context_switch switch_;
};

// Runs the task in this thread, then any tasks until none is outstanding. Throws the exception of a
// task of the waiting context.
inline void execute_and_wait(task& t, task_group_context& task_context, wait_context& outstanding,
                             task_group_context& wait_context) {
  root_scope scope(current_thread(), wait_context);
  scope.run(t, task_context);
  scope.wait(outstanding);
}

inline void wait(wait_context& outstanding, task_group_context& context) {
  root_scope(current_thread(), context).wait(outstanding);
}

inline task_group_context* current_context() noexcept { return current_group_context(); }
inline slot_id execution_slot(const execution_data&) { return current_slot(); }
inline slot_id original_slot(const execution_data& data) { return data.original_slot; }
inline slot_id affinity_slot(const execution_data& data) { return data.affinity_slot; }
inline bool is_same_affinity(const execution_data& data) {
  return data.affinity_slot == no_slot || data.affinity_slot == execution_slot(data);
}
inline bool is_stolen(const execution_data& data) {
  return original_slot(data) != execution_slot(data);
}
inline bool is_current_task_group_canceling(const execution_data& data) {
  return data.context->is_group_execution_cancelled();
}

// Memory for tasks. An object allocated with the execution_data of one thread may be freed with
// that of another thread, or without.
class small_object_allocator {
 public:
  template <typename T, typename... Args>
  T* new_object(execution_data&, Args&&... args) {
    return new_object<T>(std::forward<Args>(args)...);
  }
  template <typename T, typename... Args>
  T* new_object(const execution_data&, Args&&... args) {
    return new_object<T>(std::forward<Args>(args)...);
  }
  template <typename T, typename... Args>
  T* new_object(Args&&... args) {
    return new_task<T>(current_thread(), std::forward<Args>(args)...);
  }

  template <typename T>
  void delete_object(T* object, const execution_data&) {
    delete_object(object);
  }
  template <typename T>
  void delete_object(T* object) {
    delete_task(current_thread(), object);
  }

  // Frees the memory of an object that has been destroyed.
  template <typename T>
  void deallocate(T* object, const execution_data&) {
    deallocate(object);
  }
  template <typename T>
  void deallocate(T* object) {
    deallocate_task(current_thread(), object, sizeof(T));
  }
};

}  // namespace tbb_task
}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_TBB_TASK_HPP
