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

int get_errno() {
  if (is_setting) return 0;
  is_setting = true;
  LastErrorGuard guard;
  int number = 0;
  for (Runtime& runtime : runtimes) {
    Runtime::Errno* const function = runtime.function();
    if (function == nullptr) continue;
    number = *function();
    break;
  }
  is_setting = false;
  return number;
}

}  // namespace corbel::os
