// SPDX-License-Identifier: Apache-2.0
// The little that operator new needs of the C++ run-time library: the new-handler, and a way to
// throw and catch. The shared library must not depend on that library (C programs have none), so
// there it is looked up; the static library simply uses it.
#pragma once

#include <cstddef>
#include <new>

#include "proxy/proxy.hpp"

namespace corbel::proxy {

using NewHandler = void (*)();

// nullptr when no handler is set, or when there is no run-time library to ask.
CORBEL_PROXY_HIDDEN NewHandler current_new_handler() noexcept;

// Throws std::bad_alloc. In a process without a C++ run-time library it ends the process with one
// line.
[[noreturn]] CORBEL_PROXY_HIDDEN void throw_bad_alloc();

// The basic forms of operator new and delete, as some part of the process sees them.
struct BasicForms {
  void* (*new_one)(std::size_t);
  void* (*new_array)(std::size_t);
  void* (*new_aligned)(std::size_t, std::align_val_t);
  void* (*new_aligned_array)(std::size_t, std::align_val_t);
  void (*delete_one)(void*);
  void (*delete_array)(void*);
  void (*delete_aligned)(void*, std::align_val_t);
  void (*delete_aligned_array)(void*, std::align_val_t);
};

// Calls the new of `forms` (the aligned one if `alignment` is not 0) and returns nullptr when it
// throws.
CORBEL_PROXY_HIDDEN void* new_or_null(const BasicForms& forms, std::size_t size,
                                      std::size_t alignment, bool array) noexcept;

}  // namespace corbel::proxy
