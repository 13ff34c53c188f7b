// SPDX-License-Identifier: Apache-2.0
#include <corbel/task_group_context.hpp>

#include <new>

#include <corbel/detail/backoff.hpp>

#include "arch/arch.hpp"
#include "sched/cancellation.hpp"
#include "sched/cancellations.hpp"
#include "sched/controls.hpp"
#include "sched/floating_point.hpp"
#include "sched/thread.hpp"

namespace corbel {
namespace detail {

std::atomic<std::uint64_t> cancellations{context_node::kOneCancellation};

namespace {

constexpr std::uint64_t kFloatingPoint = context_node::kFloatingPoint;
constexpr std::uint64_t kOwnFloatingPoint = context_node::kOwnFloatingPoint;

std::exception_ptr& error_of(context_node& node) {
  return *std::launder(reinterpret_cast<std::exception_ptr*>(node.error));
}

}  // namespace

bool find_cancelled(context_node& node) noexcept {
  return sched::find_cancelled(node, cancellations);
}

bool cancel(context_node& node) noexcept {
  if (!sched::set_cancelled(node)) return false;
  sched::announce_cancellation<context_node>(cancellations);
  return true;
}

// ---- exceptions ---------------------------------------------------------------------------------

namespace {

// Of those who wait for a group one may take the exception while another copies it.
class NodeLock {
 public:
  explicit NodeLock(context_node& node) : node_(node) {
    // (1) acquire: with (2) of the one before
    while ((node.state.fetch_or(kLocked, std::memory_order_acquire) & kLocked) != 0) {
      cpu_pause();
    }
  }
  ~NodeLock() {
    // (2) release: what was done with `error` and `sharers`, with (1)
    node_.state.fetch_and(~kLocked, std::memory_order_release);
  }
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

 private:
  static constexpr std::uint64_t kLocked = context_node::kLocked;
  context_node& node_;
};

// Under the lock. The node is not failed any more.
std::exception_ptr take_error(context_node& node) {
  if (!node.has_failed()) return nullptr;
  std::exception_ptr error = std::move(error_of(node));
  error_of(node).~exception_ptr();
  // relaxed: under the lock
  node.state.fetch_and(~std::uint64_t{context_node::kFailed}, std::memory_order_relaxed);
  return error;
}

}  // namespace

void pass_exception() {
  if (sched::controls().terminates()) std::terminate();
  throw;
}

void capture_exception(context_node& node) noexcept {
  if (sched::controls().terminates()) std::terminate();
  NodeLock lock(node);
  if (!sched::set_cancelled(node)) return;
  ::new (static_cast<void*>(node.error)) std::exception_ptr(std::current_exception());
  // release: the exception, with has_failed
  node.state.fetch_or(context_node::kFailed, std::memory_order_release);
  sched::announce_cancellation<context_node>(cancellations);
}

void rethrow_exception(context_node& node) {
  std::exception_ptr error;
  {
    NodeLock lock(node);
    error = take_error(node);
  }
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

void rethrow_copy(const context_node& constant) {
  context_node& node = const_cast<context_node&>(constant);
  std::exception_ptr error;
  {
    NodeLock lock(node);
    if (node.has_failed()) error = error_of(node);
  }
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

std::exception_ptr context_access::renew(task_group_context& context) noexcept {
  NodeLock lock(context);
  std::exception_ptr error = take_error(context);
  constexpr std::uint64_t kKept = kFloatingPoint | kOwnFloatingPoint | context_node::kLocked;
  // relaxed, all: no task runs in it
  const std::uint64_t state = context.state.load(std::memory_order_relaxed);
  if ((state & context_node::kCancelled) == 0) return nullptr;  // it is, thanks to another thread
  context.state.store(cancellations.load(std::memory_order_relaxed) | (state & kKept),
                      std::memory_order_relaxed);
  return error;
}

// ---- links --------------------------------------------------------------------------------------

// Below a node to which another call has linked the context, or is about to cut it from.
bool context_access::join_link(task_group_context& context, context_node& above) noexcept {
  for (;; cpu_pause()) {
    NodeLock lock(context);
    std::uintptr_t link = 0;
    if (make_link(node(context), above, &link)) break;
    if ((link & context_node::kIsCut) != 0) continue;  // no longer than a walk
    if (context_node::at(link) != &above) return false;
    // relaxed: decides against (9), orders nothing; and what follows is under the lock
    if ((link & context_node::kIsShared) == 0 &&
        !context.link.compare_exchange_strong(link, link | context_node::kIsShared,
                                              std::memory_order_relaxed,
                                              std::memory_order_relaxed)) {
      continue;
    }
    ++context.sharers;
    break;  // with no less than the one that made the link may have taken over by now
  }
  take_over(context, above);
  return true;
}

void context_access::take_over(task_group_context& context, context_node& above) noexcept {
  sched::take_over(node(context), above, cancellations);
  if (has_floating_point(context)) return;
  // relaxed, all: published with the tasks
  if (const task_group_context* const source = sched::floating_point_source(above)) {
    context.floating_point_.store(floating_point(*source), std::memory_order_relaxed);
    context.state.fetch_or(kFloatingPoint, std::memory_order_relaxed);
  }
}

void context_access::unlink_slow(task_group_context& context, context_node& above) noexcept {
  // relaxed: only who has the last share sets the mark
  while ((context.link.load(std::memory_order_relaxed) & context_node::kIsCut) == 0) {
    {
      NodeLock lock(context);
      // relaxed, both: the lock
      if ((context.link.load(std::memory_order_relaxed) & context_node::kIsShared) != 0) {
        if (--context.sharers == 0) {
          context.link.fetch_and(~std::uintptr_t{context_node::kIsShared},
                                 std::memory_order_relaxed);
        }
        return;
      }
    }
    sched::find_cancelled(node(context), cancellations);  // so that it is remembered
    if (mark_cut(node(context), above)) break;
  }
  if (!has_floating_point(context)) {
    context.state.fetch_and(~kFloatingPoint, std::memory_order_relaxed);  // relaxed: as above
  }
  spin_until([&] { return is_deserted(node(context)); });
  end_link(node(context));
}

}  // namespace detail

void task_group_context::drop_exception() noexcept { detail::error_of(*this).~exception_ptr(); }

bool task_group_context::is_group_execution_cancelled() const {
  // relaxed: as worker::is_cancelled
  return !is_current(detail::cancellations) &&
         detail::find_cancelled(const_cast<task_group_context&>(*this));  // it only remembers
}

void task_group_context::reset() { detail::context_access::renew(*this); }

void task_group_context::capture_fp_settings() {
  // relaxed: as below
  floating_point_.store(arch::floating_point(), std::memory_order_relaxed);
  // relaxed: no other thread uses it
  state.fetch_or(kFloatingPoint | kOwnFloatingPoint, std::memory_order_relaxed);
}

bool is_current_task_group_canceling() {
  const sched::Thread* const t = sched::Thread::current_or_null();
  return t != nullptr && t->is_cancelled(*t->context);
}

}  // namespace corbel
