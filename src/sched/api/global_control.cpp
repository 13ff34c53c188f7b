// SPDX-License-Identifier: Apache-2.0
#include <corbel/global_control.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "sched/core/thread.hpp"
#include "sched/pool/controls.hpp"
#include "sched/pool/program_threads.hpp"
#include "sched/pool/thread_pool.hpp"

namespace corbel {

namespace {

// Exceeds the number of threads that any system has.
constexpr std::size_t kMaxThreads = 1 << 20;

}  // namespace

global_control::global_control(parameter p, std::size_t value)
    : value_(p == max_allowed_parallelism ? std::min(value, kMaxThreads) : value), parameter_(p) {
  if (p == max_allowed_parallelism && value == 0) {
    detail::raise_own(std::invalid_argument("max_allowed_parallelism cannot be 0"));
  }
  if (p < max_allowed_parallelism || p == scheduler_handle || p >= parameter_max) {
    detail::raise_own(std::invalid_argument("not a parameter that can be set"));
  }
  sched::controls().add(parameter_, value_);
}

global_control::~global_control() { sched::controls().remove(parameter_, value_); }

std::size_t global_control::active_value(parameter p) {
  if (p < max_allowed_parallelism || p >= parameter_max) {
    detail::raise_own(std::invalid_argument("not a parameter"));
  }
  return sched::controls().active_value(p);
}

// ---- task_scheduler_handle ----------------------------------------------------------------------

void task_scheduler_handle::add() { sched::controls().add(global_control::scheduler_handle, 1); }

void task_scheduler_handle::remove() noexcept {
  sched::controls().remove(global_control::scheduler_handle, 1);
}

bool task_scheduler_handle::end_threads() noexcept {
  if (!sched::is_outside_tasks()) return false;
  if (sched::program_threads.others_are_attached()) return false;
  const bool others_hold_it = sched::controls().active_value(global_control::scheduler_handle) != 0;
  if (others_hold_it) return !sched::thread_pool.has_workers();
  return sched::thread_pool.finalize();
}

}  // namespace corbel
