// SPDX-License-Identifier: Apache-2.0
#include "sched/arena/observers.hpp"

#include <corbel/task_scheduler_observer.hpp>

#include <algorithm>

#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel {
namespace sched {

constinit Observers observers;

namespace {

// A call of an observer's function. Calls nest.
struct Calling {
  detail::observation* observation;  // nullptr once this thread has ended the observation
  Calling* outer;
};
CORBEL_THREAD_VARIABLE(Calling*, calling) = nullptr;

std::uint32_t own_calls(const detail::observation& o) {
  std::uint32_t calls = 0;
  for (const Calling* c = calling; c != nullptr; c = c->outer) calls += c->observation == &o;
  return calls;
}

}  // namespace

// Returns the first observation with a larger number, and counts a call of it; nullptr if there is
// none.
detail::observation* Observers::take_after(std::uint64_t number) {
  sync::LockGuard guard(lock_);
  detail::observation* o = first_;
  while (o != nullptr && o->number <= number) o = o->next;
  // relaxed: under the lock, which remove() takes before it looks for calls
  if (o != nullptr) o->calls.fetch_add(1, std::memory_order_relaxed);
  return o;
}

template <typename Call>
void Observers::call(detail::observation& o, Call call) {
  Calling here{&o, calling};
  calling = &here;
  call(*o.observer);
  // Not always the innermost one: the thread may have begun another call on another stack.
  Calling** link = &calling;
  while (*link != &here) link = &(*link)->outer;
  *link = here.outer;
  if (here.observation == nullptr) return;
  std::atomic<std::uint32_t>& calls = o.calls;
  calls.fetch_sub(1, std::memory_order_release);  // (1) release: publishes the call to (2)
  os::wake_all(calls);
}

void Observers::enter(const Thread& t, std::uint64_t& seen) {
  const std::uint64_t newest =
      newest_.load(std::memory_order_relaxed);  // relaxed: a hint, see has_newer
  while (detail::observation* const o = take_after(seen)) {
    seen = o->number;
    call(*o, [&](task_scheduler_observer& observer) noexcept {
      observer.on_scheduler_entry(t.is_worker);
    });
  }
  seen = std::max(seen, newest);  // the newest observation may have ended
}

void Observers::leave(const Thread& t, std::uint64_t seen) {
  if (newest_.load(std::memory_order_relaxed) == 0)
    return;  // relaxed: if it is 0 the thread has seen none
  std::uint64_t last = 0;
  while (detail::observation* const o = take_after(last)) {
    last = o->number;
    call(*o, [&](task_scheduler_observer& observer) noexcept {
      if (o->number <= seen) observer.on_scheduler_exit(t.is_worker);
    });
    if (last >= seen) return;
  }
}

void Observers::add(detail::observation& o) {
  static constinit std::atomic<std::uint64_t> last_number{0};
  sync::LockGuard guard(lock_);
  // relaxed: under the lock it only has to exceed the numbers in this list
  o.number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  detail::observation** end = &first_;
  while (*end != nullptr) end = &(*end)->next;
  *end = &o;
  newest_.store(o.number, std::memory_order_relaxed);  // relaxed: a hint, see has_newer
}

void Observers::remove(detail::observation& o) {
  {
    sync::LockGuard guard(lock_);
    detail::observation** link = &first_;
    while (*link != &o) link = &(*link)->next;
    *link = o.next;
  }
  const std::uint32_t own = own_calls(o);
  for (Calling* c = calling; c != nullptr; c = c->outer) {
    if (c->observation == &o) c->observation = nullptr;
  }
  // (2) acquire: sees the calls that ended with (1)
  while (const std::uint32_t calls = o.calls.load(std::memory_order_acquire)) {
    if (calls == own || os::other_threads_are_gone()) break;
    os::wait(o.calls, calls);
  }
}

void Observers::forget_calls() {
  for (detail::observation* o = first_; o != nullptr; o = o->next) {
    o->calls.store(own_calls(*o), std::memory_order_relaxed);  // relaxed: the only thread
  }
}

}  // namespace sched
}  // namespace corbel
