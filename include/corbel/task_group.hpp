// SPDX-License-Identifier: Apache-2.0
// Tasks that are started one by one and waited for together. C++11 upwards. Follows the oneTBB
// specification 1.4, and TBB 2020 where it has more.
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

// What became of the tasks of a group, or of one task: they have not ended; all have run; or the
// group was cancelled and some may not have run. task_complete is what complete is, of one task.
enum task_group_status { not_complete, complete, canceled, task_complete };

namespace detail {

// Whether the stack of this thread is being unwound.
CORBEL_EXPORT bool is_unwinding() noexcept;

// Behind the end of a group's tasks: makes its context as new. Throws what one of them threw, else
// returns whether it was cancelled.
CORBEL_EXPORT bool finish_cancelled_group(task_group_context& context);
inline bool finish_group(worker& w, task_group_context& context) {
  return w.is_cancelled(context_access::node(context)) && finish_cancelled_group(context);
}

// Waits for a group's tasks in its context.
inline bool wait_for_group(worker& w, group_count& outstanding, task_group_context& context) {
  if (!outstanding.is_done()) {
    context_use use(w, context);
    outstanding.wait(w, use.node());
  }
  return finish_group(w, context);
}

}  // namespace detail

// Any thread may start tasks and cancel. Any may wait, several at a time too; a wait lasts until
// all tasks have ended, those that they started included. Tasks of a group may start others in it.
class task_group {
 public:
  // A group whose tasks are cancelled with the context in which somebody waits for them.
  task_group() : context_(&own_) {}

  // Its tasks run in the context of the program, which must live longer. The group cancels it when
  // it is cancelled and makes it as new at the end of each wait.
  explicit task_group(task_group_context& context) : context_(&context) {}

  // Every task must have ended. If some have not, cancels the group, waits, and throws missing_wait
  // unless the stack is being unwound.
  ~task_group() noexcept(false) {
    if (CORBEL_LIKELY(outstanding_.is_done())) return;
    cancel_and_wait();
    if (!detail::is_unwinding()) detail::raise(missing_wait());
  }

  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  // Starts a task that calls a copy of f: f(). If that returns a task_handle, its task is submitted
  // and should run next in the same thread. An exception of f cancels the group, and wait throws
  // it. Throws bad_alloc.
  template <typename F>
  void run(F&& f) {
    detail::worker& w = detail::current_worker();
    submit(w, make(w, std::forward<F>(f)));
  }

  // Submits a task that this group's defer has made; the handle must hold one and is empty then.
  void run(task_handle&& h) {
    check(h);
    submit(detail::current_worker(), *detail::handle_access::take(h));
  }

  // A task that calls a copy of f when it is submitted. Until then, or until the handle is
  // destroyed, wait does not return. Throws bad_alloc.
  template <typename F>
  task_handle defer(F&& f) {
    return detail::handle_access::make(make(detail::current_worker(), std::forward<F>(f)));
  }

  // Calls f() in this thread, as a task of the group, and waits. So f must not wait for the group.
  template <typename F>
  task_group_status run_and_wait(const F& f) {
    detail::worker& w = detail::current_worker();
    {
      detail::context_node& outer = *w.context;
      detail::context_use use(w, *context_);
      if (!w.is_cancelled(use.node())) {
        w.context = &use.node();
        outstanding_.reserve(w);
        detail::call_captured(use.node(), f);
        outstanding_.release(w);
        w.context = &outer;
      }
      outstanding_.wait(w, use.node());
    }
    return finish(w);
  }

  // The same with a task that this group's defer has made; the handle must hold one and is empty
  // then.
  task_group_status run_and_wait(task_handle&& h) {
    check(h);
    detail::worker& w = detail::current_worker();
    {
      detail::context_use use(w, *context_);
      submit(w, *detail::handle_access::take(h));
      outstanding_.wait(w, use.node());
    }
    return finish(w);
  }

  // Runs tasks until all of the group have ended. Throws what one of them threw; else says whether
  // the group was cancelled. It can be used again in either case. A task of the group must not wait
  // for it: that would be for itself.
  task_group_status wait() {
    detail::worker& w = detail::current_worker();
    CORBEL_ASSERT(w.running == nullptr || w.running->count != &outstanding_,
                  "a task waits for its own group");
    return detail::wait_for_group(w, outstanding_, *context_) ? canceled : complete;
  }

  // Tasks that have not begun will not begin, until the next wait has ended.
  void cancel() { context_->cancel_group_execution(); }

  // Whether the group is cancelled.
  bool is_canceling() { return context_->is_group_execution_cancelled(); }

  // ---- order between tasks

  // `after` will not begin before `before` has ended. Neither may be empty, and `after` must not
  // have been submitted. Throws bad_alloc.
  static void set_task_order(task_handle& before, task_handle& after) {
    CORBEL_ASSERT(bool(before) && bool(after), "the handle holds no task");
    detail::put_before(detail::order_of(*detail::handle_access::look(before)),
                       *detail::handle_access::look(after));
  }
  static void set_task_order(task_completion_handle& before, task_handle& after) {
    CORBEL_ASSERT(bool(before) && bool(after), "the handle holds no task");
    detail::put_before(*before.order_, *detail::handle_access::look(after));
  }

  // In a task of a group: those that come after it, now and later, come after the task of `h`
  // instead, and its completion handles stand for that one. Outside of tasks nothing happens.
  // Throws bad_alloc.
  static void transfer_this_task_completion_to(task_handle& h) {
    detail::transfer_order(detail::current_worker(), *detail::handle_access::look(h));
  }

  // Whether the task has ended: task_complete or not_complete.
  static task_group_status get_status_of(task_completion_handle& task) {
    return detail::has_ended(*task.order_) ? task_complete : not_complete;
  }

 private:
  friend class isolated_task_group;

  // For a destructor.
  void cancel_and_wait() {
    context_->cancel_group_execution();
    detail::worker& w = detail::current_worker();
    detail::context_use use(w, *context_);
    outstanding_.wait(w, use.node());
  }

  template <typename F>
  detail::group_task& make(detail::worker& w, F&& f) {
    return detail::function_task<typename std::decay<F>::type>::make(
        w, std::forward<F>(f), detail::context_access::node(*context_), outstanding_);
  }

  static void submit(detail::worker& w, detail::group_task& t) {
    task_handle held = detail::handle_access::make(t);  // drops it if there is no memory
    detail::submit(w, t);
    detail::handle_access::take(held);
  }

  // `h` is only looked at where asserting is on.
  void check(const task_handle& h) const {
    CORBEL_ASSERT(bool(h), "the handle holds no task");
    CORBEL_ASSERT(detail::handle_access::look(h)->count == &outstanding_,
                  "the task is another group's");
    static_cast<void>(h);
  }

  task_group_status finish(detail::worker& w) {
    return detail::finish_group(w, *context_) ? canceled : complete;
  }

  detail::group_count outstanding_;
  task_group_context own_;
  task_group_context* const context_;
};

// The task of a structured_task_group: made by make_task, kept by the program until the wait.
template <typename F>
class structured_task_handle {
 public:
  explicit structured_task_handle(const F& f) : body_(f) {}
  void operator()() const { body_(); }

 private:
  F body_;
};

template <typename F>
inline structured_task_handle<F> make_task(const F& f) {
  return structured_task_handle<F>(f);
}

// The task group of TBB 2020 whose tasks' bodies are not copied: each lies in a handle of the
// program that must outlive the wait.
class structured_task_group {
 public:
  // Starts a task that calls h().
  template <typename F>
  void run(structured_task_handle<F>& h) {
    group_.run([&h] { h(); });
  }
  // Calls h() in this thread and waits.
  template <typename F>
  task_group_status run_and_wait(structured_task_handle<F>& h) {
    return group_.run_and_wait(h);
  }
  // As those of task_group.
  task_group_status wait() { return group_.wait(); }
  void cancel() { group_.cancel(); }
  bool is_canceling() { return group_.is_canceling(); }

 private:
  task_group group_;
};

}  // namespace corbel

#endif  // CORBEL_TASK_GROUP_HPP
