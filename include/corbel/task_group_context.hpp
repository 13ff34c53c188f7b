// SPDX-License-Identifier: Apache-2.0
// Groups of tasks that are cancelled together. C++11 upwards.
//
// Every parallel algorithm runs in a context, one that the program passes or one of its own. An
// exception in a body cancels the context; so does cancel_group_execution(). Bodies that run go on,
// those that have not begun do not begin. A context is bound, as a rule: cancelling the one around
// it, in which its algorithm was called, cancels it too.
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

// How urgent a task or a group is. Accepted wherever TBB 2020 accepts it, without an effect.
enum priority_t {
  priority_normal = INT_MAX / 4 * 2,
  priority_low = INT_MAX / 4,
  priority_high = INT_MAX / 4 * 3
};

// All members but the constructor, the destructor and reset() may be called from any thread.
class task_group_context : private detail::lasting_node {
 public:
  // Whether the context is cancelled with the one in which it is used first: where several calls
  // use it at a time, with that of the first one, as long as a call of that one uses it.
  enum kind_type { isolated, bound };

  // Bits that say what else the context does. fp_settings: tasks run with the floating-point
  // settings (rounding, flush to zero) that the constructing thread has now; else with those of the
  // context above, or of the thread that brought the arena into being. concurrent_wait and
  // exact_exception change nothing: both are always given.
  enum traits_type {
    fp_settings = 1 << 0,
    concurrent_wait = 1 << 1,
    exact_exception = 1 << 2,
    default_traits = 0
  };

  // A context that is not cancelled. `relation` says whether it is bound.
  task_group_context(kind_type relation = bound, std::uintptr_t traits = default_traits)
      : task_group_context(relation, traits, nullptr) {}

  // The same with a name, which must stay valid, for whoever looks at contexts.
  task_group_context(const char* name, kind_type relation = bound,
                     std::uintptr_t traits = default_traits)
      : task_group_context(relation, traits, name) {}

  // No task of the context may run or wait any more.
  ~task_group_context() {
    if (CORBEL_UNLIKELY(has_failed())) drop_exception();
  }

  task_group_context(const task_group_context&) = delete;
  task_group_context& operator=(const task_group_context&) = delete;

  // Cancels the context and all bound below it. False if it was cancelled already.
  bool cancel_group_execution() { return detail::cancel(*this); }

  // Whether it is cancelled, itself or from above.
  CORBEL_EXPORT bool is_group_execution_cancelled() const;

  // Makes it as new: not cancelled. No task of it may run or wait.
  CORBEL_EXPORT void reset();

  // Takes the calling thread's floating-point settings over for the tasks that start from now on.
  // No task of the context may run or wait.
  CORBEL_EXPORT void capture_fp_settings();

  // In a handler: cancels the context, whose wait will throw what is being handled.
  void register_pending_exception() { detail::capture_exception(*this); }

  // As in TBB 2020, without an effect.
  void set_priority(priority_t) {}
  priority_t priority() const { return priority_normal; }

  // The traits of the constructor.
  std::uintptr_t traits() const { return traits_; }

  // The name of the constructor; nullptr without one.
  const char* name() const { return name_; }

 private:
  friend class detail::context_use;
  friend struct detail::context_access;

  task_group_context(kind_type relation, std::uintptr_t traits, const char* name)
      : kind_(relation), traits_(traits), name_(name) {
    // relaxed, all: nobody else has it yet. Of a thread that has not used the library yet nothing
    // is known, not even which cancellations there have been.
    link.store(0, std::memory_order_relaxed);
    const detail::worker* const w = detail::this_worker;
    state.store(w == nullptr ? 0 : w->cancellations->load(std::memory_order_relaxed),
                std::memory_order_relaxed);
    if ((traits & fp_settings) != 0) capture_fp_settings();
  }

  CORBEL_EXPORT void drop_exception() noexcept;

  const kind_type kind_;
  // As src/arch packs it: its own settings, or those of the context above while it is linked.
  std::atomic<std::uint32_t> floating_point_{0};
  const std::uintptr_t traits_;
  const char* const name_;
};

namespace detail {

// The node of a context, and back.
struct context_access {
  static context_node& node(task_group_context& context) { return context; }
  static task_group_context* context(context_node& node) {
    return static_cast<task_group_context*>(&node);
  }
  // Puts it below the thread's context until unlink, which takes what this returns: that context;
  // nullptr if it stands for itself or is below another one, and then there is no unlink.
  static context_node* link(task_group_context& context, worker& w) {
    context_node& above = *w.context;
    if (context.kind_ == task_group_context::isolated || &above == &node(context)) return nullptr;
    std::uintptr_t found;
    if (CORBEL_UNLIKELY(!make_link(node(context), above, &found))) {
      return join_link(context, above) ? &above : nullptr;
    }
    if (CORBEL_UNLIKELY(!is_current_now(above, *w.cancellations))) take_over(context, above);
    return &above;
  }

  static void unlink(task_group_context& context, worker& w, context_node& above) {
    if (CORBEL_LIKELY(context.is_current(*w.cancellations) && mark_cut(node(context), above) &&
                      is_deserted(node(context)))) {
      end_link(node(context));
    } else {
      unlink_slow(context, above);
    }
  }

  // Where another call has made the link; where there is something to be known of those above; and
  // where there is something to be remembered, another one shares the link, or the last one, which
  // has marked it, has to wait.
  CORBEL_EXPORT static bool join_link(task_group_context& context, context_node& above) noexcept;
  CORBEL_EXPORT static void take_over(task_group_context& context, context_node& above) noexcept;
  CORBEL_EXPORT static void unlink_slow(task_group_context& context, context_node& above) noexcept;

  // Makes it as new, and returns what one of its tasks has thrown, if anything.
  static std::exception_ptr renew(task_group_context& context) noexcept;

  static bool has_floating_point(const task_group_context& context) {
    // relaxed: set before anybody uses the context
    return (context.state.load(std::memory_order_relaxed) & context_node::kOwnFloatingPoint) != 0;
  }
  static std::uint32_t floating_point(const task_group_context& context) {
    // relaxed: nothing but the number
    return context.floating_point_.load(std::memory_order_relaxed);
  }
  // The thread's settings until `restore`, which takes what this returns.
  CORBEL_EXPORT static std::uint64_t use_floating_point(worker& w, std::uint32_t settings) noexcept;
  CORBEL_EXPORT static void restore_floating_point(worker& w, std::uint64_t before) noexcept;
};

// While an algorithm uses the program's context.
class context_use {
 public:
  context_use(worker& w, task_group_context& context)
      : worker_(w),
        context_(context),
        above_(context_access::link(context, w)),
        sets_floating_point_(context_access::has_floating_point(context)) {
    if (CORBEL_UNLIKELY(sets_floating_point_)) {
      before_ = context_access::use_floating_point(w, context_access::floating_point(context));
    }
  }
  ~context_use() {
    if (CORBEL_UNLIKELY(sets_floating_point_)) {
      context_access::restore_floating_point(worker_, before_);
    }
    if (above_ != nullptr) context_access::unlink(context_, worker_, *above_);
  }
  context_use(const context_use&) = delete;
  context_use& operator=(const context_use&) = delete;

  context_node& node() { return context_access::node(context_); }

 private:
  worker& worker_;
  task_group_context& context_;
  context_node* const above_;
  const bool sets_floating_point_;
  std::uint64_t before_ = 0;
};

}  // namespace detail

// Whether the task that the calling thread runs belongs to a cancelled context. False outside
// tasks.
CORBEL_EXPORT bool is_current_task_group_canceling();

}  // namespace corbel

#endif  // CORBEL_TASK_GROUP_CONTEXT_HPP
