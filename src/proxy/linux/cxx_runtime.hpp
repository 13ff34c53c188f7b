// SPDX-License-Identifier: Apache-2.0
// What operator new needs from the C++ run-time library: the new-handler, and a way to throw and
// catch. The shared library must not depend on that library, because C programs have none, so it
// looks the symbols up. The static library links to them.
#pragma once

#include <cstddef>
#include <new>

#include "proxy/linux/proxy.hpp"

namespace corbel::proxy {

using NewHandler = void (*)();

// The current new-handler; nullptr when none is set or there is no run-time library.
CORBEL_PROXY_HIDDEN NewHandler current_new_handler() noexcept;

// Throws std::bad_alloc. Without a C++ run-time library it ends the process with a message of one
// line.
[[noreturn]] CORBEL_PROXY_HIDDEN void throw_bad_alloc();

// The eight basic forms of operator new and delete that the rest is defined in terms of.
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

// Calls the operator new of `forms` (an aligned form if `alignment` is not 0, an array form if
// `array`) and returns nullptr when it throws.
CORBEL_PROXY_HIDDEN void* new_or_null(const BasicForms& forms, std::size_t size,
                                      std::size_t alignment, bool array) noexcept;

}  // namespace corbel::proxy
