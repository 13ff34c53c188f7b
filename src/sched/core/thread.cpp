// SPDX-License-Identifier: Apache-2.0
#include "sched/core/thread.hpp"

#include "base/thread_variable.hpp"

namespace corbel {
namespace detail {

CORBEL_EXPORTED_THREAD_VARIABLE(thread_data*, this_thread_data, own_thread_data) = nullptr;

}  // namespace detail

namespace sched {

constinit const CallLink some_task{nullptr, nullptr, true};

bool is_in_no_task(const Thread& t) {
  return !t.is_worker && t.waits == 0 && t.arena_scope == nullptr && t.context == &t.root &&
         t.arena == t.implicit_arena;
}

bool is_outside_tasks() {
  const Thread* const t = Thread::current_or_null();
  return t == nullptr || (is_in_no_task(*t) && t->isolation == kNoIsolation);
}

}  // namespace sched
}  // namespace corbel
