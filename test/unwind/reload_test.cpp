// SPDX-License-Identifier: Apache-2.0
// Libraries that take each other's place in memory.
#include <dlfcn.h>

#include <string>

#include "unwind_test.hpp"

namespace {

using unwind_test::Frames;
using unwind_test::is_in;

Frames captured, by_libgcc;

void keep_stack() {
  captured = unwind_test::stack_here();
  by_libgcc = unwind_test::stack_by_libgcc();
  asm volatile("" : : : "memory");
}

// Returns where the function was.
void* capture_through(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != nullptr);
  if (handle == nullptr) return nullptr;
  void* const function = dlsym(handle, "through_library");
  CHECK(function != nullptr);
  reinterpret_cast<void (*)(void (*)())>(function)(keep_stack);
  CHECK(is_in(captured[1], function));
  CHECK(unwind_test::count_in(captured, main) == 1);
  captured[0] = by_libgcc[0] = nullptr;  // two calls in one function
  CHECK(captured == by_libgcc);
  CHECK(dlclose(handle) == 0);
  return function;
}

TEST_CASE(another_library_at_the_same_address) {
  const std::string folder = UNWIND_TEST_LIBRARIES;
  unsigned same = 0;
  for (unsigned i = 0; i < 20; ++i) {
    void* const first = capture_through(folder + "/libunwind_first.so");
    void* const second = capture_through(folder + "/libunwind_second.so");
    if (first == second) ++same;
  }
  if (same == 0) throw unwind_test::Skip{"the libraries were loaded at different addresses"};
}

}  // namespace
