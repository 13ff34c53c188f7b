// SPDX-License-Identifier: Apache-2.0
#include "sched/core/program_runtime.hpp"

#include <atomic>
#include <utility>

#include <corbel/detail/backoff.hpp>

#include "os/os.hpp"

#if CORBEL_LIBRARY_HAS_OWN_RUNTIME

namespace corbel {
namespace detail {
namespace {

// Those that are loaded, the last one first. Changed under the lock, which is held for a few
// instructions while a module is loaded or unloaded.
constinit program_runtime* runtimes = nullptr;
constinit std::atomic<bool> is_locked{false};

// relaxed: functions of a module that is loaded until its last call
constinit std::atomic<void (*)(std::exception_ptr)> program_rethrow{nullptr};
constinit std::atomic<std::exception_ptr (*)(void (*)(void*), void*)> program_call{nullptr};
constinit std::atomic<void* (*)()> program_exceptions{nullptr};

template <class Change>
void change_runtimes(Change change) noexcept {
  spin_until([] {
    // (1) acquire: sees the list as (2) left it
    const bool taken = !is_locked.exchange(true, std::memory_order_acquire);
    return taken || os::other_threads_are_gone();
  });
  change();
  const bool has = runtimes != nullptr;
  program_rethrow.store(has ? runtimes->rethrow : nullptr, std::memory_order_relaxed);  // see above
  program_call.store(has ? runtimes->call : nullptr, std::memory_order_relaxed);        // see above
  // relaxed: see above
  program_exceptions.store(has ? runtimes->exceptions : nullptr, std::memory_order_relaxed);
  is_locked.store(false, std::memory_order_release);  // (2) release: publishes the list to (1)
}

}  // namespace

void use_runtime(program_runtime& runtime) noexcept {
  change_runtimes([&] {
    runtime.next = runtimes;
    runtimes = &runtime;
  });
}

void drop_runtime(program_runtime& runtime) noexcept {
  change_runtimes([&] {
    program_runtime** link = &runtimes;
    while (*link != &runtime) link = &(*link)->next;
    *link = runtime.next;
  });
}

// Without a program's, all go by this library's runtime.
void throw_in_program(std::exception_ptr error) {
  auto rethrow = program_rethrow.load(std::memory_order_relaxed);  // relaxed: see above
  if (rethrow == nullptr) rethrow = this_runtime().rethrow;
  rethrow(std::move(error));
  std::terminate();
}

}  // namespace detail

namespace sched {

std::exception_ptr call_in_program(void (*function)(void*), void* argument) {
  auto call = detail::program_call.load(std::memory_order_relaxed);  // relaxed: see above
  if (call == nullptr) call = detail::this_runtime().call;
  return call(function, argument);
}

void* exceptions_of_thread() {
  const auto get =
      detail::program_exceptions.load(std::memory_order_relaxed);  // relaxed: see above
  return get != nullptr ? get() : detail::this_runtime().exceptions();
}

}  // namespace sched
}  // namespace corbel

#endif
