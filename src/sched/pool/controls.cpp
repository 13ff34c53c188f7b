// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/controls.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>

#include "os/os.hpp"
#include "sched/core/exception_policy.hpp"
#include "sched/core/width.hpp"
#include "sched/pool/fork.hpp"
#include "sched/pool/thread_pool.hpp"

namespace corbel::sched {

Controls& controls() {
  alignas(
      Controls) static std::byte room[sizeof(Controls)];  // needs no memory and is never destroyed
  // If the process forks during the call, the child makes it again. It would not repeat the
  // initialization of a static object.
  static constinit std::once_flag begun;
  std::call_once(begun, [] {
    new (room) Controls;
    hook_forks([]() -> sync::Lock& { return controls().lock(); });
  });
  return *std::launder(reinterpret_cast<Controls*>(room));
}

std::size_t Controls::value(Parameter p) const {
  const auto& values = values_[p];
  switch (p) {
    case global_control::max_allowed_parallelism:
      if (!values.empty()) return *values.begin();
      return minimums_.empty() ? default_width() : std::max(default_width(), *minimums_.rbegin());
    case global_control::thread_stack_size:
      return values.empty() ? os::default_stack_size() : *values.rbegin();
    case global_control::terminate_on_exception:
    case global_control::leave_policy:
      return values.empty() ? 0 : *values.rbegin();
    default:
      return values.empty() ? 0 : 1;
  }
}

void Controls::apply(Parameter p) {
  if (p == global_control::max_allowed_parallelism) thread_pool.set_limit(unsigned(value(p)));
  if (p == global_control::thread_stack_size) {
    thread_pool.set_stack_size(values_[p].empty() ? 0 : value(p));
  }
  if (p == global_control::terminate_on_exception) {
    // relaxed: a flag alone
    terminate_on_exception.store(value(p) != 0, std::memory_order_relaxed);
  }
}

void Controls::add(Parameter p, std::size_t value) {
  sync::LockGuard guard(lock_);
  values_[p].insert(value);
  apply(p);
}

void Controls::remove(Parameter p, std::size_t value) {
  sync::LockGuard guard(lock_);
  values_[p].erase(values_[p].find(value));
  apply(p);
}

std::size_t Controls::active_value(Parameter p) {
  sync::LockGuard guard(lock_);
  return value(p);
}

void Controls::add_minimum(unsigned threads) {
  sync::LockGuard guard(lock_);
  minimums_.insert(threads);
  apply(global_control::max_allowed_parallelism);
}

void Controls::remove_minimum(unsigned threads) {
  sync::LockGuard guard(lock_);
  minimums_.erase(minimums_.find(threads));
  apply(global_control::max_allowed_parallelism);
}

void Controls::begin() {
  sync::LockGuard guard(lock_);
  apply(global_control::max_allowed_parallelism);
}

}  // namespace corbel::sched
