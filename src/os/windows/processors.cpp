// SPDX-License-Identifier: Apache-2.0
// Affinity. Processor n of the group g has the number 64 * g + n.
//
// A thread is bound within one group. One that may run on its whole group is bound to nothing: its
// process may use the other groups, too, by binding threads there.
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

constexpr WORD kGroups = ProcessorSet::kMax / ProcessorSet::kBits;

std::uint64_t all_of_group(WORD group) {
  const DWORD count = GetActiveProcessorCount(group);
  return count >= ProcessorSet::kBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace

bool get_processors(ProcessorSet* set) {
  LastErrorGuard guard;
  *set = {};
  GROUP_AFFINITY own{};
  if (!GetThreadGroupAffinity(GetCurrentThread(), &own) || own.Group >= kGroups) return false;
  set->words[own.Group] = own.Mask;
  const WORD groups = GetActiveProcessorGroupCount();
  if (groups > 1 && own.Mask == all_of_group(own.Group)) {
    for (WORD g = 0; g < groups && g < kGroups; ++g) set->words[g] = all_of_group(g);
  }
  return true;
}

// Among the groups of the set, the thread stays in its own if it can.
void set_processors(const ProcessorSet& set) {
  LastErrorGuard guard;
  GROUP_AFFINITY own{};
  WORD group = 0;
  if (GetThreadGroupAffinity(GetCurrentThread(), &own) && own.Group < kGroups) group = own.Group;
  if (set.words[group] == 0) {
    group = 0;
    while (group < kGroups && set.words[group] == 0) ++group;
    if (group == kGroups) return;
  }
  GROUP_AFFINITY wanted{};
  wanted.Group = group;
  wanted.Mask = set.words[group];
  SetThreadGroupAffinity(GetCurrentThread(), &wanted, nullptr);
}

}  // namespace corbel::os
