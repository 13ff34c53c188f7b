// SPDX-License-Identifier: Apache-2.0
// What an address points to, according to the kernel and the dynamic linker. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proxy/linux/proxy.hpp"

namespace corbel::proxy {

enum class Place {
  kUnknown,    // something is mapped, but the kernel does not tell what (no /proc)
  kUnmapped,   // nothing is mapped, or nothing that may be read
  kBreak,      // the data segment that grows with brk
  kAnonymous,  // private memory without a name: another allocator's, or the program's own
  kStack,      // the main thread's stack, or the calling thread's
  kShared,     // memory shared with other processes
  kImage,      // code or data of the program or of a library
  kFile,       // a mapped file or a device
};

struct Mapping {
  Place place = Place::kUnknown;
  std::uintptr_t start = 0;  // of the mapping; 0 if not known
  std::uintptr_t end = 0;
  bool writable = false;
  char name[256] = {};  // of the file or image, truncated to fit
};

// Finds the mapping that contains `address`. Leaves errno unchanged.
CORBEL_PROXY_HIDDEN Mapping find_mapping(const void* address) noexcept;

}  // namespace corbel::proxy
