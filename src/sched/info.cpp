// SPDX-License-Identifier: Apache-2.0
#include <corbel/info.hpp>

#include <algorithm>

#include "os/os.hpp"
#include "sched/binding.hpp"
#include "sched/pool.hpp"

namespace corbel::info {

std::vector<numa_node_id> numa_nodes() {
  int found[256];
  const unsigned count = os::read_memory_nodes(found, 256);
  std::vector<numa_node_id> nodes;
  for (unsigned i = 0; i < count; ++i) {
    if (sched::processors_for(found[i], -1, -1).count() > 0) nodes.push_back(found[i]);
  }
  if (nodes.empty()) nodes.push_back(-1);
  return nodes;
}

std::vector<core_type_id> core_types() {
  std::vector<core_type_id> types;
  for (int type = 0; type < int(os::count_core_types()); ++type) {
    if (sched::processors_for(-1, type, -1).count() > 0) types.push_back(type);
  }
  if (types.empty()) types.push_back(-1);
  return types;
}

int default_concurrency(const detail::constraints& wishes) {
  if (wishes.max_concurrency > 0) return wishes.max_concurrency;
  const unsigned most = sched::default_width();
  if (wishes.numa_id < 0 && wishes.core_type < 0 && wishes.max_threads_per_core <= 0) {
    return int(most);
  }
  const unsigned kept =
      sched::processors_for(wishes.numa_id, wishes.core_type, wishes.max_threads_per_core).count();
  return int(std::clamp(kept, 1U, most));
}

}  // namespace corbel::info
