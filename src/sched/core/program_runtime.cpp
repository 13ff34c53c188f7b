// SPDX-License-Identifier: Apache-2.0
#include "sched/core/program_runtime.hpp"

#include <atomic>
#include <utility>

#if CORBEL_LIBRARY_HAS_OWN_RUNTIME

namespace corbel {
namespace {

// Until a program has said otherwise, this library's.
constinit std::atomic<void (*)(std::exception_ptr)> program_rethrow{nullptr};
constinit std::atomic<std::exception_ptr (*)(void (*)(void*), void*)> program_call{nullptr};

}  // namespace

namespace detail {

// relaxed, both: functions of modules that are never unloaded before their last call
void use_runtime(const program_runtime& runtime) noexcept {
  program_rethrow.store(runtime.rethrow, std::memory_order_relaxed);
  program_call.store(runtime.call, std::memory_order_relaxed);
}

void throw_in_program(std::exception_ptr error) {
  // relaxed: see above
  auto rethrow = program_rethrow.load(std::memory_order_relaxed);
  if (rethrow == nullptr) rethrow = this_runtime().rethrow;
  rethrow(std::move(error));
  std::terminate();
}

}  // namespace detail

namespace sched {

std::exception_ptr call_in_program(void (*function)(void*), void* argument) {
  // relaxed: see above
  auto call = program_call.load(std::memory_order_relaxed);
  if (call == nullptr) call = detail::this_runtime().call;
  return call(function, argument);
}

}  // namespace sched
}  // namespace corbel

#endif
