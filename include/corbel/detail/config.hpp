// SPDX-License-Identifier: Apache-2.0
// What the headers use of the compiler and the processor, and the macros that a program may define
// before it includes any of them. Not for programs to include.
//
//   CORBEL_USE_DEBUG   nonzero: counts held locks, to report a wait for tasks under a lock
//   CORBEL_USE_ASSERT  nonzero: checks preconditions; a violation ends the program
//
// The defaults are TBB_USE_DEBUG and TBB_USE_ASSERT, if defined; else CORBEL_USE_DEBUG is 0 and
// CORBEL_USE_ASSERT equals CORBEL_USE_DEBUG. All files of a program must use the same values.
#ifndef CORBEL_DETAIL_CONFIG_HPP
#define CORBEL_DETAIL_CONFIG_HPP

#include <cstddef>
#include <exception>

// Whether exceptions are enabled in this translation unit.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define CORBEL_EXCEPTIONS 1
#else
#define CORBEL_EXCEPTIONS 0
#endif

// CORBEL_EXPORT: a function or variable of the library that programs use, whatever -fvisibility
// they are compiled with. On Windows a program that links the static library defines CORBEL_STATIC.
//
// CORBEL_EXPORT_TYPE: a class whose objects are thrown. On Windows each program and library has the
// type information of its own, which is compared by names.
#if defined(_WIN32)
#if defined(CORBEL_BUILDS_DLL)
#define CORBEL_EXPORT __declspec(dllexport)
#elif defined(CORBEL_STATIC)
#define CORBEL_EXPORT
#else
#define CORBEL_EXPORT __declspec(dllimport)
#endif
#define CORBEL_EXPORT_TYPE
#elif defined(__GNUC__)
#define CORBEL_EXPORT __attribute__((visibility("default")))
#define CORBEL_EXPORT_TYPE CORBEL_EXPORT
#else
#define CORBEL_EXPORT
#define CORBEL_EXPORT_TYPE
#endif

// Whether the library may have a C++ runtime of its own. Then each has its own record of the
// exceptions that a thread handles: the headers ask for the current one, and throw again, in the
// program.
#if defined(_WIN32)
#define CORBEL_LIBRARY_HAS_OWN_RUNTIME 1
#else
#define CORBEL_LIBRARY_HAS_OWN_RUNTIME 0
#endif

// Mark conditions that are nearly always, or nearly never, true.
#if defined(__GNUC__)
#define CORBEL_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CORBEL_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define CORBEL_NOINLINE __attribute__((noinline))
// Accesses a thread-local variable of the library without a call. The library cannot be loaded if
// the space that the C library reserves for such variables (a few KiB in glibc) is used up.
#define CORBEL_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
#else
#define CORBEL_LIKELY(condition) (condition)
#define CORBEL_UNLIKELY(condition) (condition)
#define CORBEL_NOINLINE
#define CORBEL_INITIAL_EXEC
#endif

// Declares a thread-local variable of the library that the headers use, and the function by which
// they do. On Windows, no variable of that kind can be used from another library.
#if defined(_WIN32)
#define CORBEL_LIBRARY_THREAD_VARIABLE(attributes, type, variable, function) \
  CORBEL_EXPORT type& function() noexcept
#else
#define CORBEL_LIBRARY_THREAD_VARIABLE(attributes, type, variable, function) \
  extern CORBEL_EXPORT attributes __thread type variable;                    \
  inline type& function() noexcept { return variable; }                      \
  static_assert(true, "")
#endif

// "+ 0": a macro that is defined as empty counts as 0.
#if !defined(CORBEL_USE_DEBUG)
#if defined(TBB_USE_DEBUG)
#define CORBEL_USE_DEBUG (TBB_USE_DEBUG + 0)
#else
#define CORBEL_USE_DEBUG 0
#endif
#endif
#if !defined(CORBEL_USE_ASSERT)
#if defined(TBB_USE_ASSERT)
#define CORBEL_USE_ASSERT (TBB_USE_ASSERT + 0)
#else
#define CORBEL_USE_ASSERT CORBEL_USE_DEBUG
#endif
#endif

// Calls the assertion handler and ends the program if `condition` is false. Does not evaluate
// `condition` if assertions are off.
#if CORBEL_USE_ASSERT
#include <corbel/assertion_handler.hpp>
#define CORBEL_ASSERT(condition, what) \
  ((condition) ? static_cast<void>(0)  \
               : ::corbel::detail::assertion_failed(__FILE__, __LINE__, #condition, what))
#else
#define CORBEL_ASSERT(condition, what) static_cast<void>(0)
#endif

namespace corbel {
namespace detail {

// The size of a cache line in bytes: data that different threads write should be this far apart.
#if defined(__aarch64__) && defined(__APPLE__)
constexpr std::size_t kCacheLine = 128;
#else
constexpr std::size_t kCacheLine = 64;
#endif

#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
// Of the library itself; see program_runtime.hpp.
[[noreturn]] void throw_in_program(std::exception_ptr error);
#endif

// Throws `error`; without exceptions, ends the program with std::terminate.
template <typename Error>
[[noreturn]] inline void raise(const Error& error) {
#if defined(CORBEL_BUILDS_DLL)
  throw_in_program(std::make_exception_ptr(error));
#elif CORBEL_EXCEPTIONS
  throw error;
#else
  static_cast<void>(error);
  std::terminate();
#endif
}

// Tells the processor that this is a spin loop.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // Pauses longer than `yield`, which most implementations ignore.
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CONFIG_HPP
