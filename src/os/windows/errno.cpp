// SPDX-License-Identifier: Apache-2.0
#include "os/errno.hpp"

#include <atomic>

#include "base/thread_variable.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

struct Runtime {
  using Errno = int*();

  const char* library;
  // Once it is known: a runtime is not unloaded. relaxed: each thread that looks finds the same
  std::atomic<Errno*> find{nullptr};

  Errno* function() {
    Errno* found = find.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = find_function<Errno>(library, "_errno");
      find.store(found, std::memory_order_relaxed);  // relaxed: see above
    }
    return found;
  }
};

// Looked up late: this library may be there before a runtime is.
constinit Runtime runtimes[]{{"ucrtbase.dll"}, {"msvcrt.dll"}};

// A runtime may allocate the thread's errno at its first use, and fail in that.
CORBEL_THREAD_VARIABLE(bool, is_setting) = false;

}  // namespace

void set_errno(int number) {
  if (is_setting) return;
  is_setting = true;
  LastErrorGuard guard;
  for (Runtime& runtime : runtimes) {
    if (Runtime::Errno* const function = runtime.function()) *function() = number;
  }
  is_setting = false;
}

SavedErrno::SavedErrno() {
  static_assert(sizeof runtimes / sizeof *runtimes == kRuntimes);
  if (is_setting) return;
  is_setting = true;
  LastErrorGuard guard;
  for (unsigned i = 0; i < kRuntimes; ++i) {
    Runtime::Errno* const function = runtimes[i].function();
    if (function == nullptr) continue;
    numbers_[i] = *function();
    is_saved_[i] = true;
  }
  is_setting = false;
}

void SavedErrno::restore() const {
  if (is_setting) return;
  is_setting = true;
  LastErrorGuard guard;
  for (unsigned i = 0; i < kRuntimes; ++i) {
    if (is_saved_[i]) *runtimes[i].function()() = numbers_[i];
  }
  is_setting = false;
}

}  // namespace corbel::os
