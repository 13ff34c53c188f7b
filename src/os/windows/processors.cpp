// SPDX-License-Identifier: Apache-2.0
// Processor n of the group g has the number 64 * g + n.
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

bool get_processors(ProcessorSet* set) {
  LastErrorGuard guard;
  *set = {};
  GROUP_AFFINITY own{};
  if (!GetThreadGroupAffinity(GetCurrentThread(), &own)) return false;
  set->words[own.Group] = own.Mask;
  return true;
}

// A thread runs in one group: in the first that the set has a processor of.
void set_processors(const ProcessorSet& set) {
  LastErrorGuard guard;
  for (WORD group = 0; group < ProcessorSet::kMax / ProcessorSet::kBits; ++group) {
    if (set.words[group] == 0) continue;
    GROUP_AFFINITY wanted{};
    wanted.Group = group;
    wanted.Mask = set.words[group];
    SetThreadGroupAffinity(GetCurrentThread(), &wanted, nullptr);
    return;
  }
}

}  // namespace corbel::os
