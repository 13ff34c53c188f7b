// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): what a walk over a call stack needs. All
// of these functions may be called in signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/arch.hpp"

namespace corbel::os {

// A program or library in memory.
struct CodeObject {
  // All of a library, with gaps perhaps. Of a program that the kernel has loaded in several pieces,
  // the one that the address is in.
  std::uintptr_t low = 0, high = 0;
  const unsigned char* unwind_index = nullptr;  // its .eh_frame_hdr
  bool is_program = false;                      // is loaded as long as the process
};

// Finds the program or library that the address lies in. Waits for no lock. False if there is none
// or the system does not tell.
bool find_code(std::uintptr_t address, CodeObject* object);

// The build id of the program or library that begins at `low`: where it is in memory, and its size
// in bytes, which is 0 if there is none. Reads nothing that cannot be read.
struct BuildId {
  std::uintptr_t address = 0;
  std::size_t size = 0;
};
BuildId find_build_id(std::uintptr_t low);

// A range of the process's addresses, as the system knows it.
struct Mapping {
  std::uintptr_t start, end;
  std::uint64_t offset;  // in the file
  bool is_readable, is_executable;
  const char* path;  // empty for memory that is no file; cut off after some 4000 bytes
};

// Calls `each` for all mappings in the order of their addresses, until it returns false. Opens a
// file. Returns false where the system does not tell. What other threads map and unmap meanwhile
// may be there or not. Needs about 5 KiB of stack.
bool for_each_mapping(bool (*each)(const Mapping&, void*), void* argument);

// Copies memory that may not be there, or not be readable. Returns false if not all of it has been
// copied.
bool copy_memory(void* to, std::uintptr_t from, std::size_t size);

// Whether the eight bytes at the address can be read. Requires: they are aligned.
bool can_read(std::uintptr_t address);

// Walks over a stack of the calling thread by tables of the system: Windows alone, whose programs
// have none of DWARF. visit(pc, stack pointer, argument) gets each return address with the stack
// pointer after that return, the innermost first, until it returns false. The walk begins with the
// caller of this function or, if `context` is that of a Fault, with what it interrupted, whose
// address plus 1 stands for a return address. It ends where the tables do. It reads no stack but
// that of the thread, and leaves out the frames of the library that replaces malloc.
void walk_stack(const void* context, bool (*visit)(std::uintptr_t, std::uintptr_t, void*),
                void* argument);

// The end of the main thread's stack, as far as the code of the program uses it; 0 where the system
// does not tell. There is no other memory in the room below it.
std::uintptr_t main_stack_end();
std::size_t main_stack_room();

// Whether this is the code that a signal handler returns to. Requires: its first kSignalReturnSize
// bytes can be read.
inline constexpr std::size_t kSignalReturnSize = 16;
bool is_signal_return(std::uintptr_t code);

// The address of the interrupted registers (a ucontext_t) where that code is reached with this
// stack pointer.
std::uintptr_t signal_context(std::uintptr_t stack_pointer);

// Where a register of that number is in a ucontext_t; -1 if it is not there.
int context_offset(unsigned number);
int context_offset_of_pc();

}  // namespace corbel::os
