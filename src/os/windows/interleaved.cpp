// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

void* map_interleaved(std::size_t size, const int*, std::size_t, std::size_t) {
  LastErrorGuard guard;
  return VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void unmap_interleaved(void* memory, std::size_t) {
  LastErrorGuard guard;
  VirtualFree(memory, 0, MEM_RELEASE);
}

}  // namespace corbel::os
