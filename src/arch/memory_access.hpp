// SPDX-License-Identifier: Apache-2.0
// Which memory an instruction reads and writes, for the instructions that programs spend their time
// in. The registers have the numbers of unwind tables (frames.hpp); on aarch64, 31 is the stack
// pointer. Works for either processor on both, and reads only the code that it is given.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::arch {

struct MemoryAccess {
  std::uintptr_t address = 0;
  unsigned size = 0;  // bytes
  bool reads = false;
  bool writes = false;
};

// Code around an instruction.
struct CodeView {
  const unsigned char* at;  // the instruction
  std::size_t before;       // bytes before and from it on that are there
  std::size_t after;
  std::uintptr_t address;  // of the instruction, when it ran
};

namespace x86_64 {

// How long the instruction is; 0 if it is none.
std::size_t length_of(const CodeView& code);

// How long the instruction before this one is; 0 if that is not known. Instructions may begin at
// any byte, but a decoder that begins at a wrong one nearly always gets to the right ones after a
// few instructions. So most of the possible beginnings lead to the same instruction.
std::size_t length_before(const CodeView& code);

// The access of the instruction. False if it has none, or is not known, or has one relative to a
// segment, as thread-local variables have.
bool decode_access(const CodeView& code, const std::uintptr_t* registers, MemoryAccess* access);

// The access for which a processor has waited that an interrupt has stopped before this
// instruction. An interrupt waits for the oldest instruction that has not been completed, so that
// is the one before; if that has no access, then this one's.
bool find_access(const CodeView& code, const std::uintptr_t* registers, MemoryAccess* access);

}  // namespace x86_64

namespace aarch64 {

// As those above.
bool decode_access(const CodeView& code, const std::uintptr_t* registers, MemoryAccess* access);
bool find_access(const CodeView& code, const std::uintptr_t* registers, MemoryAccess* access);

}  // namespace aarch64

#if defined(__x86_64__)
using x86_64::find_access;
#else
using aarch64::find_access;
#endif

}  // namespace corbel::arch
