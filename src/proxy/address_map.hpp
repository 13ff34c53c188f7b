// SPDX-License-Identifier: Apache-2.0
// What an address points to, as the kernel and the dynamic linker see it. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proxy/proxy.hpp"

namespace corbel::proxy {

enum class Place {
  kUnknown,    // the kernel does not tell (no /proc), but something is mapped there
  kUnmapped,   // nothing, or nothing that may be read and written
  kBreak,      // the classic heap, grown with brk
  kAnonymous,  // private memory without a name: another allocator's, a mapping of the program's own
  kStack,      // of the first thread, or of the calling one
  kShared,     // memory shared with other processes
  kImage,      // code or data of the program or of a library
  kFile,       // a mapped file or a device
};

struct Mapping {
  Place place = Place::kUnknown;
  std::uintptr_t start = 0;  // of the mapping, where it is known
  std::uintptr_t end = 0;
  bool writable = false;
  char name[256] = {};  // of the file or image, cut short if it is longer
};

CORBEL_PROXY_HIDDEN Mapping find_mapping(const void* address) noexcept;

}  // namespace corbel::proxy
