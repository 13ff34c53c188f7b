// SPDX-License-Identifier: Apache-2.0
// The address space is not shown yet.
#include "os/os.hpp"

namespace corbel::os {

bool for_each_memory_area(void (*)(void*, const MemoryArea&), void*) { return false; }

void for_each_touched(std::uintptr_t start, std::uintptr_t end,
                      void (*visit)(void*, std::uintptr_t, std::uintptr_t), void* context) {
  visit(context, start, end);
}

}  // namespace corbel::os
