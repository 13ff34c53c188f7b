// SPDX-License-Identifier: Apache-2.0
// The only place where the allocator calls the program in the middle of an operation: the thread is
// marked as in a slow path and as in its callback. An exception that passed through would leave
// both marks set, because the allocator is compiled without exceptions. So this file has no unwind
// tables (src/CMakeLists.txt): the search for a handler ends here, and std::terminate is called.
#include "alloc/policy/heap_limit.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

__attribute__((noinline)) bool call_program(corbel_limit_callback callback, void* context,
                                            std::size_t size) {
  // This frame must be on the stack, so the function is not inlined, and the comparison keeps the
  // call from becoming a tail call.
  return os::call_without_exceptions(callback, context, size) != 0;
}

}  // namespace corbel::alloc
