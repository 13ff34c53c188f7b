// SPDX-License-Identifier: Apache-2.0
// Code without the tables of DWARF; stack_walk.cpp walks by those of the system.
#include "os/code.hpp"

#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

bool find_code(std::uintptr_t, CodeObject*) { return false; }
BuildId find_build_id(std::uintptr_t) { return {}; }

bool copy_memory(void* to, std::uintptr_t from, std::size_t size) {
  LastErrorGuard guard;
  SIZE_T copied = 0;
  return ReadProcessMemory(GetCurrentProcess(), reinterpret_cast<const void*>(from), to, size,
                           &copied) != 0 &&
         copied == size;
}

bool can_read(std::uintptr_t address) {
  std::uint64_t word;
  return copy_memory(&word, address, sizeof word);
}

std::uintptr_t main_stack_end() { return 0; }
std::size_t main_stack_room() { return 0; }

// There are no signals.
bool is_signal_return(std::uintptr_t) { return false; }
std::uintptr_t signal_context(std::uintptr_t) { return 0; }
int context_offset(unsigned) { return -1; }
int context_offset_of_pc() { return -1; }

}  // namespace corbel::os
