// SPDX-License-Identifier: Apache-2.0
// Contexts: tasks that are cancelled together. C++11 and later. Follows the oneTBB
// specification 1.4, and TBB 2020 for what only that has.
//
// Every parallel algorithm runs in a context, which is the program's or its own. An exception in a
// body cancels the context; so does cancel_group_execution(). Bodies that are running continue;
// bodies that have not begun do not begin. Contexts form a tree: a bound context, which is the
// default, is a child of the context in which its algorithm is called, and is cancelled with it.
#ifndef CORBEL_TASK_GROUP_CONTEXT_HPP
#define CORBEL_TASK_GROUP_CONTEXT_HPP

#include <atomic>
#include <climits>
#include <cstdint>

#include <corbel/detail/context_link.hpp>
#include <corbel/detail/context_node.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {
class context_use;
struct context_access;
}  // namespace detail

// A priority of TBB 2020. Accepted where TBB 2020 accepts it, and ignored.
enum priority_t {
  priority_normal = INT_MAX / 4 * 2,
  priority_low = INT_MAX / 4,
  priority_high = INT_MAX / 4 * 3
};

// Any thread may call any member at any time, except the constructor, the destructor, reset() and
// capture_fp_settings().
class task_group_context : private detail::lasting_node {
 public:
  // bound: the context is cancelled with its parent, the context in which it is used. If several
  // calls use it at the same time, the parent is that of the first call, until the last call under
  // that parent ends. isolated: the context has no parent.
  enum kind_type { isolated, bound };

  // Flags. fp_settings: tasks run with the floating-point settings (rounding, flush to zero) that
  // the constructing thread has now. Without it they run with those of the parent, or else of the
  // arena: those that the thread had that made the arena, or for a thread's own arena those that it
  // had when it first used the library. They are restored when a call ends. concurrent_wait and
  // exact_exception are always in effect.
  enum traits_type {
    fp_settings = 1 << 0,
    concurrent_wait = 1 << 1,
    exact_exception = 1 << 2,
    default_traits = 0
  };

  // Makes a context that is not cancelled.
  task_group_context(kind_type relation = bound, std::uintptr_t traits = default_traits)
      : task_group_context(relation, traits, nullptr) {}

  // Makes such a context with a name for tools. The string must outlive the context.
  task_group_context(const char* name, kind_type relation = bound,
                     std::uintptr_t traits = default_traits)
      : task_group_context(relation, traits, name) {}

  // No task of the context may be running or waiting to run.
  ~task_group_context() {
    if (CORBEL_UNLIKELY(has_failed())) drop_exception();
  }

  task_group_context(const task_group_context&) = delete;
  task_group_context& operator=(const task_group_context&) = delete;

  // Cancels the context and the bound contexts below it. Returns false if it was cancelled already.
  bool cancel_group_execution() { return detail::cancel(*this); }

  // Returns whether the context or one above it has been cancelled.
  CORBEL_EXPORT bool is_group_execution_cancelled() const;

  // Resets the context: it is no longer cancelled, and its exception is dropped. No task of the
  // context may be running or waiting to run.
  CORBEL_EXPORT void reset();

  // Takes the calling thread's floating-point settings for tasks that start from now on. No task of
  // the context may be running or waiting to run.
  CORBEL_EXPORT void capture_fp_settings();

  // Called in an exception handler: cancels the context and keeps the current exception, which the
  // wait for the context throws.
  void register_pending_exception() { detail::capture_exception(*this); }

  // From TBB 2020; ignored.
  void set_priority(priority_t) {}
  priority_t priority() const { return priority_normal; }

  // Returns the traits given to the constructor.
  std::uintptr_t traits() const { return traits_; }

  // Returns the name given to the constructor, or nullptr.
  const char* name() const { return name_; }

 private:
  friend class detail::context_use;
  friend struct detail::context_access;

  task_group_context(kind_type relation, std::uintptr_t traits, const char* name)
      : kind_(relation), traits_(traits), name_(name) {
    // relaxed, all: no other thread has the object yet. A thread that has not used the library yet
    // does not know the number of cancellations; 0 then makes the first check take the slow path,
    // as it does in a thread that is traced.
    link.store(0, std::memory_order_relaxed);
    const detail::thread_data* const thread = detail::own_thread_data();
    const std::uint64_t number =
        thread == nullptr ? 0 : thread->cancellations->load(std::memory_order_relaxed);
    state.store(number & ~std::uint64_t{kNeverCurrent}, std::memory_order_relaxed);
    if ((traits & fp_settings) != 0) capture_fp_settings();
  }

  CORBEL_EXPORT void drop_exception() noexcept;

  const kind_type kind_;
  // The context's own settings, or those of the parent while it is linked; packed by src/arch.
  std::atomic<std::uint32_t> floating_point_{0};
  const std::uintptr_t traits_;
  const char* const name_;
};

namespace detail {

// Converts between a context and its node, and does what algorithms do with a context.
struct context_access {
  static context_node& node(task_group_context& context) { return context; }
  static task_group_context* context(context_node& node) {
    return static_cast<task_group_context*>(&node);
  }
  // Makes the thread's context the parent of `context` and returns that parent, for unlink. Returns
  // nullptr if the context is isolated, is the thread's context or has another parent; then there
  // is no unlink.
  static context_node* link(task_group_context& context, thread_data& thread) {
    context_node& above = *thread.context;
    if (context.kind_ == task_group_context::isolated || &above == &node(context)) return nullptr;
    std::uintptr_t found;
    if (CORBEL_UNLIKELY(!make_link(node(context), above, &found))) {
      return join_link(context, above) ? &above : nullptr;
    }
    if (CORBEL_UNLIKELY(!is_current_now(above, *thread.cancellations)))
      inherit_from(context, above);
    return &above;
  }

  static void unlink(task_group_context& context, thread_data& thread, context_node& above) {
    if (CORBEL_LIKELY(context.is_current(*thread.cancellations) && mark_cut(node(context), above) &&
                      has_no_walkers(node(context)))) {
      end_link(node(context));
    } else {
      unlink_slow(context, above);
    }
  }

  // Slow path of link, when another call has made a link already: returns whether it leads to
  // `above`.
  CORBEL_EXPORT static bool join_link(task_group_context& context, context_node& above) noexcept;
  // Slow path of link: copies the state of the nodes above, which may have been cancelled or have
  // floating-point settings.
  CORBEL_EXPORT static void inherit_from(task_group_context& context, context_node& above) noexcept;
  // Slow path of unlink: there were cancellations that the context must learn of, another call
  // shares the link, or walkers must leave before the marked link can be removed.
  CORBEL_EXPORT static void unlink_slow(task_group_context& context, context_node& above) noexcept;

  // Resets the context and returns the exception of one of its tasks, if there was one.
  static std::exception_ptr reset_and_take_error(task_group_context& context) noexcept;

  static bool has_floating_point(const task_group_context& context) {
    // relaxed: set before any thread uses the context
    return (context.state.load(std::memory_order_relaxed) & context_node::kOwnFloatingPoint) != 0;
  }
  static std::uint32_t floating_point(const task_group_context& context) {
    // relaxed: only the value itself is used
    return context.floating_point_.load(std::memory_order_relaxed);
  }
  // Gives the thread the settings until restore_floating_point, which takes the value returned
  // here.
  CORBEL_EXPORT static std::uint64_t use_floating_point(thread_data& thread,
                                                        std::uint32_t settings) noexcept;
  CORBEL_EXPORT static void restore_floating_point(thread_data& thread,
                                                   std::uint64_t before) noexcept;
  // Gives a thread that is in no task the settings of its arena until restore_floating_point.
  // Returns 0 if it has them already, or is in a task: then there is nothing to restore.
  CORBEL_EXPORT static std::uint64_t use_arena_floating_point(thread_data& thread) noexcept;

  // Gives a context of the program that is made in a task with settings of its context these
  // settings: its tasks may begin before a wait links it.
  CORBEL_EXPORT static void take_floating_point(task_group_context& context,
                                                thread_data& thread) noexcept;

  // Cancels a bound context that no call uses, because `above`, the thread's context, is cancelled.
  // Called before the first task is made: the task may begin before a wait links the context.
  CORBEL_EXPORT static void take_cancellation(task_group_context& context,
                                              context_node& above) noexcept;
};

// Applies the settings of the thread's arena to a call that the thread makes outside of tasks.
class outermost_call {
 public:
  explicit outermost_call(thread_data& thread) : thread_(thread) {
    // relaxed: only a root, or an isolated context that this thread uses, has no link
    if (CORBEL_UNLIKELY(thread.context->link.load(std::memory_order_relaxed) == 0)) {
      before_ = context_access::use_arena_floating_point(thread);
    }
  }
  ~outermost_call() {
    if (CORBEL_UNLIKELY(before_ != 0)) context_access::restore_floating_point(thread_, before_);
  }
  outermost_call(const outermost_call&) = delete;
  outermost_call& operator=(const outermost_call&) = delete;

 private:
  thread_data& thread_;
  std::uint64_t before_ = 0;
};

// Links the program's context, and applies its floating-point settings, for the time of one call.
class context_use {
 public:
  context_use(thread_data& thread, task_group_context& context)
      : thread_(thread),
        call_(thread),
        context_(context),
        above_(context_access::link(context, thread)),
        sets_floating_point_(context_access::has_floating_point(context)) {
    if (CORBEL_UNLIKELY(sets_floating_point_)) {
      before_ = context_access::use_floating_point(thread, context_access::floating_point(context));
    }
  }
  ~context_use() {
    if (CORBEL_UNLIKELY(sets_floating_point_)) {
      context_access::restore_floating_point(thread_, before_);
    }
    if (above_ != nullptr) context_access::unlink(context_, thread_, *above_);
  }
  context_use(const context_use&) = delete;
  context_use& operator=(const context_use&) = delete;

  context_node& node() { return context_access::node(context_); }

 private:
  thread_data& thread_;
  const outermost_call call_;
  task_group_context& context_;
  context_node* const above_;
  const bool sets_floating_point_;
  std::uint64_t before_ = 0;
};

}  // namespace detail

// Returns whether the task that the calling thread runs belongs to a cancelled context; false
// outside of tasks. Any thread may call it.
CORBEL_EXPORT bool is_current_task_group_canceling();

}  // namespace corbel

#endif  // CORBEL_TASK_GROUP_CONTEXT_HPP
