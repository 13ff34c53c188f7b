// SPDX-License-Identifier: Apache-2.0
// Short library functions that inlined code of loops, task groups and arenas calls.
#include <corbel/detail/arena_call.hpp>
#include <corbel/detail/arena_slot.hpp>
#include <corbel/detail/group_count.hpp>
#include <corbel/detail/loop.hpp>
#include <corbel/detail/tbb_task.hpp>
#include <corbel/task_group.hpp>

#include <exception>
#include <utility>

#include "sched/arena/arena.hpp"
#include "sched/core/thread.hpp"
#include "sched/pool/dispatch.hpp"

namespace corbel::detail {

// ---- loops --------------------------------------------------------------------------------------

unsigned arena_width(const thread_data& thread) noexcept {
  return static_cast<const sched::Thread&>(thread).arena->width();
}

unsigned slot_index(const thread_data& thread) noexcept {
  return static_cast<const sched::Thread&>(thread).slot->index;
}

void mail_task(thread_data& thread, task_base& t, unsigned slot) {
  sched::Thread& self = static_cast<sched::Thread&>(thread);
  sched::mail(self, t, slot % self.arena->slot_count());
}

// ---- the calling thread -------------------------------------------------------------------------

context_node* current_context_node() noexcept {
  const sched::Thread* const t = sched::Thread::current_or_null();
  if (t == nullptr || t->context == &t->root || t->context == &no_group) return nullptr;
  return t->context;
}

int current_slot_index() noexcept {
  const sched::Thread* const t = sched::Thread::current_or_null();
  return t == nullptr || t->slot == nullptr ? -1 : int(t->slot->index);
}

// ---- task groups --------------------------------------------------------------------------------

#if CORBEL_LIBRARY_HAS_OWN_RUNTIME

std::exception_ptr take_error_of_group(task_group_context& context) noexcept {
  return context_access::reset_and_take_error(context);
}

#else

bool is_unwinding() noexcept { return std::uncaught_exceptions() > 0; }

bool finish_cancelled_group(task_group_context& context) {
  // Null if another waiting thread has taken the exception.
  if (std::exception_ptr error = context_access::reset_and_take_error(context)) {
    std::rethrow_exception(std::move(error));
  }
  return true;
}

#endif

// The task may hand its end to another one, so the thread looks whenever anything ends.
void wait_for_end(thread_data& thread, task_order& order) noexcept {
  const call_trace trace(thread);
  const auto has_ended_at = [](const void* key) {
    return has_ended(*static_cast<task_order*>(const_cast<void*>(key)));
  };
  sched::wait_for_any(static_cast<sched::Thread&>(thread), &order, has_ended_at);
  join_path(thread, order);
}

// The numbers below continue those of group_count.hpp, which has the argument.
void group_count::release_watched(thread_data& thread) noexcept {
  trace_end(thread, this);
  // relaxed: a thread that sees the sum change sees this, too
  inside_.fetch_add(1, std::memory_order_relaxed);
  if (is_own(thread)) {
    // (7) seq_cst: of two watched releases, either this change is before the other's look (9), or
    // the other's change is before this look. It is a release too, like (1) of group_count.hpp.
    // relaxed: only this thread writes it
    own_.store(own_.load(std::memory_order_relaxed) - 1, std::memory_order_seq_cst);
  } else {
    // (8) seq_cst: like (7). It is a release too, like (2) of group_count.hpp
    foreign_.fetch_add(kReleased, std::memory_order_seq_cst);
  }
  // (9) seq_cst: the look, which pairs with (7) and (8) of the other releases
  const std::uint32_t foreign = std::uint32_t(foreign_.load(std::memory_order_seq_cst));
  // (9) seq_cst: the second half of the look
  const bool zero = own_.load(std::memory_order_seq_cst) + foreign == 0;
  const void* const key = this;
  // (4) release: the look (9) is before (6) of is_done() sees no thread inside
  inside_.fetch_sub(1, std::memory_order_release);
  if (zero) notify(key);
}

}  // namespace corbel::detail
