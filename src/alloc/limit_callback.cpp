// SPDX-License-Identifier: Apache-2.0
// The one place where the allocator calls the program and has something half done: it counts as in
// a slow path, and the thread as within its callback. An exception would leave that as it is, for
// nothing here is compiled to clean up after one. Therefore this file has no unwind tables
// (src/CMakeLists.txt): the search for a handler ends here, and std::terminate is called.
#include "alloc/heap_limit.hpp"

namespace corbel::alloc {

__attribute__((noinline)) bool call_program(corbel_limit_callback callback, void* context,
                                            std::size_t size) {
  // Neither a tail call nor inlined when linked: this frame has to be on the stack.
  return callback(context, size) != 0;
}

}  // namespace corbel::alloc
