// SPDX-License-Identifier: Apache-2.0
#include "unwind/modules.hpp"

#include "os/os.hpp"

namespace corbel::unwind {

bool for_each_module(bool (*each)(const Module&, void*), void* argument) {
  struct Search {
    bool (*each)(const Module&, void*);
    void* argument;
  } search{each, argument};
  return os::for_each_mapping(
      [](const os::Mapping& mapping, void* given) {
        const auto& wanted = *static_cast<const Search*>(given);
        return wanted.each({mapping.start, mapping.end, mapping.offset, mapping.path, nullptr, 0},
                           wanted.argument);
      },
      &search);
}

}  // namespace corbel::unwind
