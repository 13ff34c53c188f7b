// SPDX-License-Identifier: Apache-2.0
// The stacks of the program's threads, for as long as blocks are recorded for a scan. A part of a
// stack that no thread is using is full of old pointers, which would hide leaks: what is below the
// stack pointer, and the whole stack of a thread that has ended, which the C library keeps for
// another one.
//
// The stack of a thread that has ended may go at any time, and its addresses come to mean something
// else. So the record is not believed without a word in the thread's static TLS, which lies in the
// same memory: it says what the record is about, and it is gone when the memory is.
#pragma once

#include <cstdint>

namespace corbel::alloc {

struct ThreadStack {
  std::uintptr_t low, high;
  // Where the C library keeps the address of the thread's DTV, which it uses again for the next
  // thread on this stack: a word or two at the thread pointer.
  std::uintptr_t kept_low, kept_high;
  bool ended;  // the thread is ending or has ended
};

// To be called before the program's second thread allocates.
void watch_thread_stacks();

// Calls visit(context, stack) for the stacks that exist. No thread may run meanwhile.
void for_each_thread_stack(void (*visit)(void* context, const ThreadStack& stack), void* context);

}  // namespace corbel::alloc
