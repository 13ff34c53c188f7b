// SPDX-License-Identifier: Apache-2.0
// A function to be called in an arena or an isolation scope, and its result. Not for programs to
// include.
#ifndef CORBEL_DETAIL_ARENA_CALL_HPP
#define CORBEL_DETAIL_ARENA_CALL_HPP

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/new_task.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// call() calls the function and keeps its Result, const_call_result<F>; take_result(), which may be
// called only after it, moves the result out.
template <typename F, typename Result>
class arena_call {
 public:
  explicit arena_call(F& f) : function_(f) {}
  ~arena_call() {
    if (returned_) result().~Result();
  }
  arena_call(const arena_call&) = delete;
  arena_call& operator=(const arena_call&) = delete;

  static void call(void* self) {
    arena_call& c = *static_cast<arena_call*>(self);
    ::new (static_cast<void*>(c.storage_)) Result(call_as_const(c.function_, 0));
    c.returned_ = true;
  }
  Result take_result() { return std::move(result()); }

 private:
  Result& result() { return *reinterpret_cast<Result*>(storage_); }

  F& function_;
  bool returned_ = false;
  alignas(Result) unsigned char storage_[sizeof(Result)];
};

template <typename F, typename Result>
class arena_call<F, Result&> {
 public:
  explicit arena_call(F& f) : function_(f) {}
  static void call(void* self) {
    arena_call& c = *static_cast<arena_call*>(self);
    c.result_ = &call_as_const(c.function_, 0);
  }
  Result& take_result() { return *result_; }

 private:
  F& function_;
  typename std::remove_reference<Result>::type* result_ = nullptr;
};

template <typename F>
class arena_call<F, void> {
 public:
  explicit arena_call(F& f) : function_(f) {}
  static void call(void* self) { call_as_const(static_cast<arena_call*>(self)->function_, 0); }
  void take_result() {}

 private:
  F& function_;
};

// Calls function(argument) in the isolation scope `scope`: waits in it run only tasks of the
// scope, which are those started in it. Exceptions of the function propagate.
CORBEL_EXPORT void isolate_in(std::uint64_t scope, void (*function)(void*), void* argument);
// Returns the number of a new isolation scope.
CORBEL_EXPORT std::uint64_t new_isolation_scope() noexcept;

// The context of tasks that belong to no group. It is never cancelled.
extern CORBEL_EXPORT context_node no_group;

// Drops the task if enqueuing it throws.
class enqueue_guard {
 public:
  explicit enqueue_guard(task_base& t) : task_(&t) {}
  ~enqueue_guard() {
    if (task_ != nullptr) task_->run(task_, current_thread(), true);
  }
  enqueue_guard(const enqueue_guard&) = delete;
  enqueue_guard& operator=(const enqueue_guard&) = delete;

  // Calls enqueue(task), which takes the task over unless it throws.
  template <typename F>
  void pass_to(const F& enqueue) {
    enqueue(*task_);
    task_ = nullptr;
  }

 private:
  task_base* task_;
};

// A task that belongs to no group, for task_arena::enqueue. An exception of its function ends the
// program, as in a std::thread.
template <typename F>
struct enqueued_task : task_base {
  F body;

  template <typename G>
  explicit enqueued_task(G&& f) : task_base(&execute), body(std::forward<G>(f)) {
    context = &no_group;
  }

  template <typename G>
  static enqueued_task& make(thread_data& thread, G&& f) {
    return *new_task<enqueued_task>(thread, std::forward<G>(f));
  }

 private:
  static void call(F& f) noexcept { call_as_const(f, 0); }

  // `dropped` is `cancelled` of task_base::run, which here means that enqueue_guard drops the task:
  // the context is never cancelled.
  static task_base* execute(task_base* self, thread_data& thread, bool dropped) {
    enqueued_task* const t = static_cast<enqueued_task*>(self);
    if (!dropped) call(t->body);
    delete_task(thread, t);
    return nullptr;
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ARENA_CALL_HPP
