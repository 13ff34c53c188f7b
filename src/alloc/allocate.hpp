// SPDX-License-Identifier: Apache-2.0
// What malloc and realloc share.
#pragma once

#include <errno.h>

#include <cstddef>

namespace corbel::alloc {

inline void* out_of_memory() {
  errno = ENOMEM;
  return nullptr;
}

// As allocate_aligned() for a block that can be done without: at the hard limit the program is not
// asked for room, no refusal is counted, and errno stays.
void* allocate_if_room(std::size_t size, std::size_t alignment);

}  // namespace corbel::alloc
