// SPDX-License-Identifier: Apache-2.0
// The exported functions that describe the machine and the library's version.
#include <corbel/info.hpp>

#include <corbel/detail/runtime_version.h>
#include <corbel/detail/config.hpp>
#include <corbel/detail/context_node.hpp>

#include <algorithm>
#include <stdexcept>

#include "base/config.hpp"
#include "os/os.hpp"
#include "sched/api/check_constraints.hpp"
#include "sched/arena/binding.hpp"
#include "sched/core/width.hpp"

namespace corbel::detail {

void check_constraints(const constraints& limits) {
  if (limits.max_threads_per_core == 0 || limits.max_threads_per_core < kAutomatic) {
    raise_own(std::invalid_argument("max_threads_per_core must be positive or automatic"));
  }
}

}  // namespace corbel::detail

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

int default_concurrency(const detail::constraints& limits) {
  detail::check_constraints(limits);
  if (limits.max_concurrency > 0) return limits.max_concurrency;
  const unsigned width = sched::default_width();
  if (limits.numa_id < 0 && limits.core_type < 0 && limits.max_threads_per_core <= 0) {
    return int(width);
  }
  const unsigned kept =
      sched::processors_for(limits.numa_id, limits.core_type, limits.max_threads_per_core).count();
  return int(std::clamp(kept, 1U, width));
}

}  // namespace corbel::info

extern "C" {

// Declared in a header of C: a DLL lists them (cmake/CorbelLibrary.cmake).
#define CORBEL_EXPORT_OF_C __attribute__((visibility("default")))

CORBEL_EXPORT_OF_C const char* TBB_runtime_version() { return corbel::config::kTbbVersion; }

CORBEL_EXPORT_OF_C int TBB_runtime_interface_version() {
  return corbel::config::kTbbInterfaceVersion;
}

}  // extern "C"
