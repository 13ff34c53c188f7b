// SPDX-License-Identifier: Apache-2.0
// Address space in units of 64 KiB. The system reserves and releases ranges as a whole only, so
// memory is mapped in parts of larger reservations, the regions. A region is released when none of
// its units is in use.
//
// No function calls the system with the lock held. In the last moments of the process, when the
// thread that held it may be gone, no unit is given out or taken back.
#pragma once

#include <cstddef>

namespace corbel::os {

// Finds `size` bytes of address space; arguments and result as those of map(). Nothing is
// committed.
void* take_addresses(std::size_t size, std::size_t alignment, void* hint);

// Gives addresses back that take_addresses() has returned, all of them or a part. Of a unit of
// which only a part is given back, nothing is. Requires: none of the pages is committed.
void give_addresses(void* address, std::size_t size);

struct RegionFigures {
  std::size_t regions;
  std::size_t reserved;  // in bytes
  std::size_t used;      // in bytes
};
RegionFigures region_figures();

}  // namespace corbel::os
