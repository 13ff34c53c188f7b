// SPDX-License-Identifier: Apache-2.0
#include <corbel/task_group_context.hpp>

#include <exception>
#include <new>
#include <utility>

#include <corbel/detail/backoff.hpp>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "sched/core/cancellation.hpp"
#include "sched/core/exception_policy.hpp"
#include "sched/core/floating_point.hpp"
#include "sched/core/thread.hpp"

namespace corbel {
namespace detail {

// The numbers below follow those of context_node.hpp, context_link.hpp and cancellation.hpp.

namespace {

constexpr std::uint64_t kFloatingPoint = context_node::kFloatingPoint;
constexpr std::uint64_t kOwnFloatingPoint = context_node::kOwnFloatingPoint;

std::exception_ptr& error_of(context_node& node) {
  return *std::launder(reinterpret_cast<std::exception_ptr*>(node.error));
}

}  // namespace

// ---- exceptions ---------------------------------------------------------------------------------

namespace {

// Several threads may wait for a group: one may take the exception while another copies it. Spins,
// since the lock is held for a few instructions.
class NodeLock {
 public:
  explicit NodeLock(context_node& node) : node_(node) {
    // (16) acquire: sees what the last owner did with `error` and `sharers` before (17)
    while ((node.state.fetch_or(kLocked, std::memory_order_acquire) & kLocked) != 0) {
      if (os::other_threads_are_gone()) break;  // the owner among them
      cpu_pause();
    }
  }
  ~NodeLock() {
    // (17) release: publishes what was done with `error` and `sharers` to (16)
    node_.state.fetch_and(~kLocked, std::memory_order_release);
  }
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

 private:
  static constexpr std::uint64_t kLocked = context_node::kLocked;
  context_node& node_;
};

// Under the lock. Clears kFailed.
std::exception_ptr take_error(context_node& node) {
  if (!node.has_failed()) return nullptr;
  std::exception_ptr error = std::move(error_of(node));
  error_of(node).~exception_ptr();
  // relaxed: under the lock
  node.state.fetch_and(~std::uint64_t{context_node::kFailed}, std::memory_order_relaxed);
  return error;
}

void keep_error(context_node& node, std::exception_ptr error) noexcept {
#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
  // Its handler may have ended: what the runtime prints of the exception needs one.
  if (sched::terminates_on_exception()) std::rethrow_exception(error);
#else
  if (sched::terminates_on_exception()) std::terminate();
#endif
  NodeLock lock(node);
  if (!sched::set_cancelled(node)) return;
  ::new (static_cast<void*>(node.error)) std::exception_ptr(std::move(error));
  // (18) release: publishes the exception to (15) of has_failed()
  node.state.fetch_or(context_node::kFailed, std::memory_order_release);
  sched::announce_cancellation<context_node>(cancellations);
}

std::exception_ptr copy_error(const context_node& constant) noexcept {
  context_node& node = const_cast<context_node&>(constant);
  NodeLock lock(node);
  return node.has_failed() ? error_of(node) : nullptr;
}

}  // namespace

bool terminates_on_exception() noexcept { return sched::terminates_on_exception(); }

#if CORBEL_LIBRARY_HAS_OWN_RUNTIME

void keep_exception(context_node& node, std::exception_ptr error) noexcept {
  keep_error(node, std::move(error));
}

std::exception_ptr take_exception(context_node& node) noexcept {
  NodeLock lock(node);
  return take_error(node);
}

std::exception_ptr copy_exception(const context_node& node) noexcept { return copy_error(node); }

#else

void pass_exception() {
  if (sched::terminates_on_exception()) std::terminate();
  throw;
}

void capture_exception(context_node& node) noexcept { keep_error(node, std::current_exception()); }

void rethrow_exception(context_node& node) {
  std::exception_ptr error;
  {
    NodeLock lock(node);
    error = take_error(node);
  }
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

void rethrow_copy(const context_node& node) {
  std::exception_ptr error = copy_error(node);
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

#endif

std::exception_ptr context_access::reset_and_take_error(task_group_context& context) noexcept {
  NodeLock lock(context);
  std::exception_ptr error = take_error(context);
  constexpr std::uint64_t kKept = kFloatingPoint | kOwnFloatingPoint | context_node::kLocked;
  // relaxed, all: no task runs in the context
  const std::uint64_t state = context.state.load(std::memory_order_relaxed);
  if ((state & context_node::kCancelled) == 0) return nullptr;  // another thread has done it
  context.state.store(cancellations.load(std::memory_order_relaxed) | (state & kKept),
                      std::memory_order_relaxed);
  return error;
}

// ---- links --------------------------------------------------------------------------------------

// Joins the link to `above` that another call has made, and may be about to cut.
bool context_access::join_link(task_group_context& context, context_node& above) noexcept {
  for (;; cpu_pause()) {
    NodeLock lock(context);
    std::uintptr_t link = 0;
    if (make_link(node(context), above, &link)) break;
    // The cut is complete once the walks above have come back.
    if ((link & context_node::kIsCut) != 0) continue;
    if (context_node::at(link) != &above) return false;
    // relaxed: only decides whether this or (9) of context_link.hpp comes first; the lock orders
    // what follows
    if ((link & context_node::kIsShared) == 0 &&
        !context.link.compare_exchange_strong(link, link | context_node::kIsShared,
                                              std::memory_order_relaxed,
                                              std::memory_order_relaxed)) {
      continue;
    }
    ++context.sharers;
    // The call that made the link may not have copied the state of the nodes above yet, so this one
    // copies it too.
    break;
  }
  inherit_from(context, above);
  return true;
}

void context_access::inherit_from(task_group_context& context, context_node& above) noexcept {
  sched::inherit_from(node(context), above, cancellations);
  if (has_floating_point(context)) return;
  // relaxed, all: published with the tasks
  if (const task_group_context* const source = sched::floating_point_source(above)) {
    context.floating_point_.store(floating_point(*source), std::memory_order_relaxed);
    context.state.fetch_or(kFloatingPoint, std::memory_order_relaxed);
  }
}

void context_access::take_cancellation(task_group_context& context, context_node& above) noexcept {
  if (context.kind_ == task_group_context::isolated || &above == &node(context)) return;
  // relaxed: a call that links the context meanwhile copies the state of the nodes above it
  if (context.link.load(std::memory_order_relaxed) == 0) cancel(context);
}

void context_access::unlink_slow(task_group_context& context, context_node& above) noexcept {
  // relaxed: only the call with the last share sets the mark
  while ((context.link.load(std::memory_order_relaxed) & context_node::kIsCut) == 0) {
    {
      NodeLock lock(context);
      // relaxed, both: under the lock
      if ((context.link.load(std::memory_order_relaxed) & context_node::kIsShared) != 0) {
        if (--context.sharers == 0) {
          context.link.fetch_and(~std::uintptr_t{context_node::kIsShared},
                                 std::memory_order_relaxed);
        }
        return;
      }
    }
    sched::find_cancelled(node(context), cancellations);  // records what is known above
    if (mark_cut(node(context), above)) break;
  }
  if (!has_floating_point(context)) {
    // relaxed: published with the next tasks
    context.state.fetch_and(~kFloatingPoint, std::memory_order_relaxed);
  }
  // A walker that has vanished at the end of the process does not come back.
  spin_until([&] { return has_no_walkers(node(context)) || os::other_threads_are_gone(); });
  end_link(node(context));
}

}  // namespace detail

void task_group_context::drop_exception() noexcept { detail::error_of(*this).~exception_ptr(); }

bool task_group_context::is_group_execution_cancelled() const {
  return !is_current(detail::cancellations) &&
         detail::find_cancelled(const_cast<task_group_context&>(*this));  // records the result
}

void task_group_context::reset() { detail::context_access::reset_and_take_error(*this); }

void task_group_context::capture_fp_settings() {
  // relaxed, both: no other thread uses the context
  floating_point_.store(arch::floating_point(), std::memory_order_relaxed);
  state.fetch_or(kFloatingPoint | kOwnFloatingPoint, std::memory_order_relaxed);
}

bool is_current_task_group_canceling() {
  const sched::Thread* const t = sched::Thread::current_or_null();
  return t != nullptr && t->is_cancelled(*t->context);
}

}  // namespace corbel
