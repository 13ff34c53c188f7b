// SPDX-License-Identifier: Apache-2.0
// The files whose code the process has mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::unwind {

// One mapping of code. Valid during the call that it is passed to.
struct Module {
  std::uintptr_t start, end;
  std::uint64_t offset;  // of `start` in the file
  // As the system names it: " (deleted)" follows if the file is no longer there, and the kernel's
  // own code is "[vdso]".
  const char* path;
  const unsigned char* build_id;
  std::size_t build_id_size;  // 0 if there is no build id
};

// Calls each(module, argument) for every mapping of a file with code, in the order of their
// addresses, until it returns false. Returns false where the system does not tell.
// Async-signal-safe; opens a file, and needs about 6 KiB of stack. A module that another thread
// loads or unloads meanwhile may be there or not.
bool for_each_module(bool (*each)(const Module&, void*), void* argument);

// The same for a function object.
template <class Each>
bool for_each_module(const Each& each) {
  return for_each_module(
      [](const Module& module, void* argument) {
        return (*static_cast<const Each*>(argument))(module);
      },
      const_cast<void*>(static_cast<const void*>(&each)));
}

}  // namespace corbel::unwind
