// SPDX-License-Identifier: Apache-2.0
// What the headers need of the compiler and the processor, and the switches that a program may set
// before it includes any of them. Not for programs to include.
//
//   CORBEL_USE_DEBUG   nonzero: locks are counted, so that waiting for tasks under one is noticed
//   CORBEL_USE_ASSERT  nonzero: what callers must see to is checked; a mistake ends the program
//
// Where they are not defined, TBB_USE_DEBUG and TBB_USE_ASSERT stand for them, and asserting
// follows debugging. All files of a program must agree, as on NDEBUG.
#ifndef CORBEL_DETAIL_CONFIG_HPP
#define CORBEL_DETAIL_CONFIG_HPP

#include <cstddef>
#include <exception>

// Whether exceptions are switched on in this file.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define CORBEL_EXCEPTIONS 1
#else
#define CORBEL_EXCEPTIONS 0
#endif

// A function or class of a library, visible whatever -fvisibility the program is compiled with.
#if defined(__GNUC__)
#define CORBEL_EXPORT __attribute__((visibility("default")))
#else
#define CORBEL_EXPORT
#endif

// How to compile the paths that are taken nearly always, and nearly never.
#if defined(__GNUC__)
#define CORBEL_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CORBEL_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define CORBEL_NOINLINE __attribute__((noinline))
// Reads a thread-local variable of the library without a call. The library cannot be loaded when
// the thread's reserve for such variables (some KiB in glibc) is exhausted.
#define CORBEL_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
#else
#define CORBEL_LIKELY(condition) (condition)
#define CORBEL_UNLIKELY(condition) (condition)
#define CORBEL_NOINLINE
#define CORBEL_INITIAL_EXEC
#endif

// The "+ 0" is for a switch that is defined as nothing, which counts as off.
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

// Calls the assertion handler and ends the program when `condition` is false; nothing at all, not
// even an evaluation, where asserting is off.
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

// The length of a cache line, what two threads must keep apart to not slow each other down.
#if defined(__aarch64__) && defined(__APPLE__)
constexpr std::size_t kCacheLine = 128;
#else
constexpr std::size_t kCacheLine = 64;
#endif

// Throws `error`; where exceptions are switched off, ends the program as a throw would.
template <typename Error>
[[noreturn]] inline void raise(const Error& error) {
#if CORBEL_EXCEPTIONS
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
  // Waits longer than `yield`, which most implementations ignore.
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CONFIG_HPP
