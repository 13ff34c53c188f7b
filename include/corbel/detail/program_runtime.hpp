// SPDX-License-Identifier: Apache-2.0
// Where the library may have a C++ runtime of its own: by what it lets the program's throw and
// catch. Each runtime counts the exceptions that a thread has thrown and not yet caught
// (std::uncaught_exceptions), so one must not catch what the other has thrown. Not for programs to
// include.
//
// If several modules of a process have a runtime of their own, the one that was loaded last counts.
#ifndef CORBEL_DETAIL_PROGRAM_RUNTIME_HPP
#define CORBEL_DETAIL_PROGRAM_RUNTIME_HPP

#include <corbel/detail/config.hpp>

#if CORBEL_LIBRARY_HAS_OWN_RUNTIME

#include <exception>
#include <utility>

// Itanium C++ ABI, 2.2.2. The header of libc++ leaves it out.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace corbel {
namespace detail {

struct program_runtime {
  void (*rethrow)(std::exception_ptr error);
  // Returns the exception that the function throws, or nullptr.
  std::exception_ptr (*call)(void (*function)(void*), void* argument);
  // The calling thread's exceptions: two words.
  void* (*exceptions)();
  program_runtime* next;  // the one that was loaded before
};

CORBEL_EXPORT void use_runtime(program_runtime& runtime) noexcept;
CORBEL_EXPORT void drop_runtime(program_runtime& runtime) noexcept;  // is unloaded

#if CORBEL_EXCEPTIONS

inline program_runtime this_runtime() noexcept {
  return {[](std::exception_ptr error) { std::rethrow_exception(std::move(error)); },
          [](void (*function)(void*), void* argument) -> std::exception_ptr {
            try {
              function(argument);
            } catch (...) {
              return std::current_exception();
            }
            return nullptr;
          },
          []() -> void* { return __cxxabiv1::__cxa_get_globals(); }, nullptr};
}

#if !defined(CORBEL_BUILDS_DLL) && !defined(CORBEL_STATIC)
namespace {
struct runtime_user {
  runtime_user() noexcept { use_runtime(runtime); }
  ~runtime_user() { drop_runtime(runtime); }
  runtime_user(const runtime_user&) = delete;
  runtime_user& operator=(const runtime_user&) = delete;

  program_runtime runtime = this_runtime();
};
runtime_user uses_runtime;
}  // namespace
#endif

#endif

}  // namespace detail
}  // namespace corbel

#endif
#endif  // CORBEL_DETAIL_PROGRAM_RUNTIME_HPP
