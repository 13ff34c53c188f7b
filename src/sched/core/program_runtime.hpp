// SPDX-License-Identifier: Apache-2.0
// Calls of the program's functions whose exceptions the library keeps.
#pragma once

#include <corbel/detail/program_runtime.hpp>

#include <exception>
#include <utility>

#if !CORBEL_LIBRARY_HAS_OWN_RUNTIME
// As in the public header.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1
#endif

namespace corbel::sched {

#if CORBEL_LIBRARY_HAS_OWN_RUNTIME

[[noreturn]] inline void throw_again(std::exception_ptr error) {
  detail::throw_in_program(std::move(error));
}

// Where the program's C++ runtime has its two words on the exceptions of the calling thread.
void* exceptions_of_thread();

std::exception_ptr call_in_program(void (*function)(void*), void* argument);

// Returns the exception that `function` throws, or nullptr.
template <class Function>
std::exception_ptr exception_of(Function function) {
  return call_in_program([](void* f) { (*static_cast<Function*>(f))(); }, &function);
}

#else

inline void* exceptions_of_thread() { return __cxxabiv1::__cxa_get_globals(); }

[[noreturn]] inline void throw_again(std::exception_ptr error) {
  std::rethrow_exception(std::move(error));
}

template <class Function>
std::exception_ptr exception_of(Function function) {
  try {
    function();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

#endif

}  // namespace corbel::sched
