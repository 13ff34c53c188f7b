// SPDX-License-Identifier: Apache-2.0
#include "sched/controls.hpp"

#include <corbel/task_scheduler_init.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <stdexcept>

#include "os/os.hpp"
#include "sched/attach.hpp"
#include "sched/pool.hpp"

namespace corbel {
namespace sched {

Controls& controls() {
  alignas(Controls) static std::byte room[sizeof(Controls)];  // needs no memory, and stays
  // A fork in the middle of it lets the child begin again, which a static object would not.
  static constinit std::once_flag begun;
  std::call_once(begun, [] {
    new (room) Controls;
    hook_forks();
  });
  return *std::launder(reinterpret_cast<Controls*>(room));
}

std::size_t Controls::value(Parameter p) const {
  const auto& values = values_[p];
  switch (p) {
    case global_control::max_allowed_parallelism:
      if (!values.empty()) return *values.begin();
      return wishes_.empty() ? default_width() : std::max(default_width(), *wishes_.rbegin());
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
  if (p == global_control::max_allowed_parallelism) pool.set_limit(unsigned(value(p)));
  if (p == global_control::thread_stack_size) {
    pool.set_stack_size(values_[p].empty() ? 0 : value(p));
  }
  // relaxed: a flag
  if (p == global_control::terminate_on_exception) {
    terminates_.store(value(p) != 0, std::memory_order_relaxed);
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

void Controls::add_wish(unsigned threads) {
  sync::LockGuard guard(lock_);
  wishes_.insert(threads);
  apply(global_control::max_allowed_parallelism);
}

void Controls::remove_wish(unsigned threads) {
  sync::LockGuard guard(lock_);
  wishes_.erase(wishes_.find(threads));
  apply(global_control::max_allowed_parallelism);
}

void Controls::begin() {
  sync::LockGuard guard(lock_);
  apply(global_control::max_allowed_parallelism);
}

namespace {

// More threads than any system has numbers for.
constexpr std::size_t kMostThreads = 1 << 20;

}  // namespace
}  // namespace sched

// ---- global_control -----------------------------------------------------------------------------

global_control::global_control(parameter p, std::size_t value)
    : value_(p == max_allowed_parallelism ? std::min(value, sched::kMostThreads) : value),
      parameter_(p) {
  if (p == max_allowed_parallelism && value == 0) {
    throw std::invalid_argument("max_allowed_parallelism cannot be 0");
  }
  if (p < max_allowed_parallelism || p == scheduler_handle || p >= parameter_max) {
    throw std::invalid_argument("not a parameter that can be set");
  }
  sched::controls().add(parameter_, value_);
}

global_control::~global_control() { sched::controls().remove(parameter_, value_); }

std::size_t global_control::active_value(parameter p) {
  if (p < max_allowed_parallelism || p >= parameter_max) {
    throw std::invalid_argument("not a parameter");
  }
  return sched::controls().active_value(p);
}

// ---- task_scheduler_handle ----------------------------------------------------------------------

void task_scheduler_handle::add() { sched::controls().add(global_control::scheduler_handle, 1); }

void task_scheduler_handle::remove() noexcept {
  sched::controls().remove(global_control::scheduler_handle, 1);
}

bool task_scheduler_handle::end_threads() noexcept {
  if (sched::controls().active_value(global_control::scheduler_handle) != 0) return false;
  return sched::is_outside() && sched::pool.finalize();
}

// ---- task_scheduler_init ------------------------------------------------------------------------

namespace {

// How many objects are active in this thread.
thread_local constinit unsigned active_inits = 0;

}  // namespace

void task_scheduler_init::initialize(int number_of_threads, stack_size_type thread_stack_size) {
  if (is_active() || number_of_threads == deferred) return;
  const int threads = number_of_threads > 0 ? number_of_threads : default_num_threads();
  if (thread_stack_size != 0) {
    sched::controls().add(global_control::thread_stack_size, thread_stack_size);
  }
  sched::controls().add_wish(unsigned(threads));
  threads_ = threads;
  stack_size_ = thread_stack_size;
  if (active_inits++ == 0 && sched::is_outside()) sched::renew_thread(unsigned(threads));
}

void task_scheduler_init::terminate() noexcept {
  if (!is_active()) return;
  sched::controls().remove_wish(unsigned(threads_));
  if (stack_size_ != 0) sched::controls().remove(global_control::thread_stack_size, stack_size_);
  threads_ = 0;
  stack_size_ = 0;
  if (--active_inits == 0 && sched::is_outside()) sched::renew_thread(0);
}

bool task_scheduler_init::blocking_terminate(const std::nothrow_t&) noexcept {
  terminate();
  return sched::is_outside() && sched::pool.finalize();
}

void task_scheduler_init::blocking_terminate() {
  if (!blocking_terminate(std::nothrow)) {
    throw unsafe_wait("the threads of the scheduler could not be waited for");
  }
}

int task_scheduler_init::default_num_threads() { return int(sched::default_width()); }

}  // namespace corbel
