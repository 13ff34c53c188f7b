// SPDX-License-Identifier: Apache-2.0
// Tasks that are started one by one and waited for together. C++11 and later. Follows the oneTBB
// specification 1.4, and TBB 2020 for what only that has.
#ifndef CORBEL_TASK_GROUP_HPP
#define CORBEL_TASK_GROUP_HPP

#include <type_traits>
#include <utility>

#include <corbel/detail/group_count.hpp>
#include <corbel/detail/group_task.hpp>
#include <corbel/missing_wait.hpp>
#include <corbel/task_group_context.hpp>
#include <corbel/task_handle.hpp>

namespace corbel {

// The outcome of a group's tasks, or of one task. not_complete: not ended yet. complete: all tasks
// have run. canceled: the group was cancelled, and some tasks may not have run. task_complete: the
// one task has ended.
enum task_group_status { not_complete, complete, canceled, task_complete };

namespace detail {

// Whether the stack of this thread is being unwound.
#if CORBEL_LIBRARY_HAS_OWN_RUNTIME && __cplusplus >= 201703L
inline bool is_unwinding() noexcept { return std::uncaught_exceptions() > 0; }
#elif CORBEL_LIBRARY_HAS_OWN_RUNTIME
inline bool is_unwinding() noexcept { return std::uncaught_exception(); }
#else
CORBEL_EXPORT bool is_unwinding() noexcept;
#endif

// Called when a group's tasks have ended. If the group was cancelled, resets its context, then
// throws the exception of a task, if there was one, or returns true. Several waits may end at the
// same time: one of them gets the exception.
#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
CORBEL_EXPORT std::exception_ptr take_error_of_group(task_group_context& context) noexcept;
inline bool finish_cancelled_group(task_group_context& context) {
  throw_again(take_error_of_group(context));
  return true;
}
#else
CORBEL_EXPORT bool finish_cancelled_group(task_group_context& context);
#endif
inline bool finish_group(thread_data& thread, task_group_context& context) {
  return thread.is_cancelled(context_access::node(context)) && finish_cancelled_group(context);
}

// Waits in the group's context until its tasks have ended, then calls finish_group.
inline bool wait_for_group(thread_data& thread, group_count& outstanding,
                           task_group_context& context) {
  if (!outstanding.is_done()) {
    context_use use(thread, context);
    outstanding.wait(thread, use.node());
  }
  return finish_group(thread, context);
}

}  // namespace detail

// Any thread may start tasks, cancel the group and wait for it; several threads may wait at the
// same time. Tasks of a group may start further tasks in it, and a wait includes those.
class task_group {
 public:
  // A group with a context of its own, bound to the context of the thread that waits for the group.
  task_group() : context_(&own_) {
    detail::thread_data* const thread = detail::own_thread_data();
    if (CORBEL_UNLIKELY(thread != nullptr && thread->has_floating_point)) {
      detail::context_access::take_floating_point(own_, *thread);
    }
  }

  // A group whose tasks run in `context`, which must outlive it. Cancelling the group cancels the
  // context, and each wait resets it at its end.
  explicit task_group(task_group_context& context) : context_(&context) {}

  // All tasks must have ended. If some have not, cancels the group, waits for them and throws
  // missing_wait, unless the stack is being unwound.
  ~task_group() noexcept(false) {
    if (CORBEL_LIKELY(outstanding_.is_done())) return;
    cancel_and_wait();
    if (!detail::is_unwinding()) detail::raise_own(missing_wait());
  }

  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  // Starts a task that calls a copy of `f` without arguments, as a const object if it has such a
  // call. If the call returns a task_handle, that task is submitted, to run next in the same thread
  // if possible. An exception of `f` cancels the group, and wait throws it. Throws bad_alloc and
  // what copying `f` throws; no task has been started then.
  template <typename F>
  void run(F&& f) {
    detail::thread_data& thread = detail::current_thread();
    submit(thread, make(thread, std::forward<F>(f)));
  }

  // Submits a task made by defer of this group. `h` must hold a task, and is empty afterwards.
  // Throws bad_alloc; the task is dropped then.
  void run(task_handle&& h) {
    check(h);
    submit(detail::current_thread(), *detail::handle_access::take(h));
  }

  // Returns a task that calls a copy of `f` once it is submitted. wait does not return until the
  // task has run or its handle has been destroyed. Throws bad_alloc and what copying `f` throws.
  template <typename F>
  task_handle defer(F&& f) {
    return detail::handle_access::make(make(detail::current_thread(), std::forward<F>(f)));
  }

  // Calls `f` in the calling thread as a task of the group, then waits as wait does. If the call
  // returns a task_handle, that task is submitted. `f` must not wait for the group itself.
  template <typename F>
  task_group_status run_and_wait(const F& f) {
    detail::thread_data& thread = detail::current_thread();
    const detail::call_trace trace(thread);
    {
      detail::context_node& outer = *thread.context;
      detail::context_use use(thread, *context_);
      if (!thread.is_cancelled(use.node())) {
        thread.context = &use.node();
        outstanding_.reserve(thread);
        detail::call_captured(use.node(),
                              [&] { call(thread, f, std::is_same<decltype(f()), task_handle>()); });
        outstanding_.release(thread);
        thread.context = &outer;
      }
      outstanding_.wait(thread, use.node());
    }
    return finish(thread);
  }

  // Submits a task made by defer of this group, then waits as wait does. `h` must hold a task, and
  // is empty afterwards.
  task_group_status run_and_wait(task_handle&& h) {
    check(h);
    detail::thread_data& thread = detail::current_thread();
    {
      detail::context_use use(thread, *context_);
      submit(thread, *detail::handle_access::take(h));
      outstanding_.wait(thread, use.node());
    }
    return finish(thread);
  }

  // Runs tasks until all tasks of the group have ended. Throws the first exception that a task
  // threw; otherwise returns canceled if the group was cancelled, else complete. The group can be
  // used again in each case. A task of the group must not call it: the task would wait for itself.
  task_group_status wait() {
    detail::thread_data& thread = detail::current_thread();
    CORBEL_ASSERT(thread.running == nullptr || thread.running->count != &outstanding_,
                  "a task waits for its own group");
    return detail::wait_for_group(thread, outstanding_, *context_) ? canceled : complete;
  }

  // Cancels the group until the next wait ends: tasks that have not begun do not begin, running
  // ones continue.
  void cancel() { context_->cancel_group_execution(); }

  // Returns whether the group is cancelled.
  bool is_canceling() { return context_->is_group_execution_cancelled(); }

  // ---- order between tasks (the oneTBB extension for task dependencies)

  // Delays `after` until `before` has ended. Neither may be empty, and `after` must not have been
  // submitted. Throws bad_alloc.
  static void set_task_order(task_handle& before, task_handle& after) {
    CORBEL_ASSERT(bool(before) && bool(after), "the handle holds no task");
    detail::put_before(detail::order_of(*detail::handle_access::look(before)),
                       *detail::handle_access::look(after));
  }
  static void set_task_order(task_completion_handle& before, task_handle& after) {
    CORBEL_ASSERT(bool(before) && bool(after), "the handle holds no task");
    detail::put_before(*before.order_, *detail::handle_access::look(after));
  }

  // Called by a task of a group: its successors, present and future, wait for the task of `h`
  // instead, and its completion handles refer to that task. Does nothing outside of tasks. Throws
  // bad_alloc.
  static void transfer_this_task_completion_to(task_handle& h) {
    detail::transfer_order(detail::current_thread(), *detail::handle_access::look(h));
  }

  // ---- single tasks (the oneTBB extension for waiting for individual tasks)
  // If a task has handed its completion on, these functions are about the task that received it.

  // Returns task_complete if the task has run, canceled if it was cancelled or dropped before it
  // began, else not_complete. `task` must refer to a task.
  static task_group_status get_status_of(task_completion_handle& task) {
    CORBEL_ASSERT(bool(task), "the handle refers to no task");
    if (!detail::has_ended(*task.order_)) return not_complete;
    return detail::was_dropped(*task.order_) ? canceled : task_complete;
  }

  // Runs tasks until the task has ended; others of the group may still run then, and the group has
  // to be waited for all the same. Returns what get_status_of does. If a task of the group has
  // thrown, throws that exception, which a later wait throws again. `task` must refer to a task of
  // this group. A task may wait for another one.
  task_group_status wait_for_task(task_completion_handle& task) {
    CORBEL_ASSERT(bool(task), "the handle refers to no task");
    detail::thread_data& thread = detail::current_thread();
    detail::context_use use(thread, *context_);
    if (!detail::has_ended(*task.order_)) detail::wait_for_end(thread, *task.order_);
    if (use.node().has_failed()) detail::rethrow_copy(use.node());
    return get_status_of(task);
  }

  // Submits a task made by defer of this group, then waits for it as wait_for_task does. `h` must
  // hold a task, and is empty afterwards. Throws bad_alloc; the task is dropped then.
  task_group_status run_and_wait_for_task(task_handle&& h) {
    check(h);
    task_handle submitted = std::move(h);
    task_completion_handle end = submitted;
    run(std::move(submitted));
    return wait_for_task(end);
  }

 private:
  friend class isolated_task_group;
  friend class task_arena;

  // Waits in the context of the caller, for task_arena.
  static task_group_status wait_for_end_of(task_completion_handle& task) {
    CORBEL_ASSERT(bool(task), "the handle refers to no task");
    detail::wait_for_end(detail::current_thread(), *task.order_);
    return get_status_of(task);
  }

  // For the destructor.
  void cancel_and_wait() {
    context_->cancel_group_execution();
    detail::thread_data& thread = detail::current_thread();
    detail::context_use use(thread, *context_);
    outstanding_.wait(thread, use.node());
  }

  template <typename F>
  detail::group_task& make(detail::thread_data& thread, F&& f) {
    if (CORBEL_UNLIKELY(thread.is_cancelled(*thread.context)) && outstanding_.is_done()) {
      detail::context_access::take_cancellation(*context_, *thread.context);
    }
    return detail::function_task<typename std::decay<F>::type>::make(
        thread, std::forward<F>(f), detail::context_access::node(*context_), outstanding_);
  }

  static void submit(detail::thread_data& thread, detail::group_task& t) {
    task_handle held = detail::handle_access::make(t);  // drops the task if submit throws
    detail::submit(thread, t);
    detail::handle_access::take(held);
  }

  // Call `f`, and submit the task that it returns.
  template <typename F>
  static void call(detail::thread_data&, const F& f, std::false_type) {
    f();
  }
  template <typename F>
  static void call(detail::thread_data& thread, const F& f, std::true_type) {
    task_handle returned = f();
    if (returned) submit(thread, *detail::handle_access::take(returned));
  }

  // Checks `h` only if assertions are on.
  void check(const task_handle& h) const {
    CORBEL_ASSERT(bool(h), "the handle holds no task");
    CORBEL_ASSERT(detail::handle_access::look(h)->count == &outstanding_,
                  "the task is another group's");
    static_cast<void>(h);
  }

  task_group_status finish(detail::thread_data& thread) {
    return detail::finish_group(thread, *context_) ? canceled : complete;
  }

  detail::group_count outstanding_;
  task_group_context own_;
  task_group_context* const context_;
};

// The body of a task for structured_task_group, made by make_task. The program keeps it until the
// group has been waited for.
template <typename F>
class structured_task_handle {
 public:
  explicit structured_task_handle(const F& f) : body_(f) {}
  void operator()() const { body_(); }

 private:
  F body_;
};

// Returns a handle that holds a copy of `f`.
template <typename F>
inline structured_task_handle<F> make_task(const F& f) {
  return structured_task_handle<F>(f);
}

// The task group of TBB 2020 that does not copy the bodies of its tasks: each is in a handle of the
// program that must outlive the wait. Errors and thread safety are those of task_group.
class structured_task_group {
 public:
  // Starts a task that calls h().
  template <typename F>
  void run(structured_task_handle<F>& h) {
    group_.run([&h] { h(); });
  }
  // Calls h() in the calling thread and waits.
  template <typename F>
  task_group_status run_and_wait(structured_task_handle<F>& h) {
    return group_.run_and_wait(h);
  }
  // See task_group.
  task_group_status wait() { return group_.wait(); }
  void cancel() { group_.cancel(); }
  bool is_canceling() { return group_.is_canceling(); }

 private:
  task_group group_;
};

}  // namespace corbel

#endif  // CORBEL_TASK_GROUP_HPP
