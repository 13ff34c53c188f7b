// SPDX-License-Identifier: Apache-2.0
// What the machine offers for arenas. C++11 upwards. Follows the oneTBB specification 1.4. All
// functions may be called from any thread.
#ifndef CORBEL_INFO_HPP
#define CORBEL_INFO_HPP

#include <vector>

#include <corbel/detail/config.hpp>

namespace corbel {

using numa_node_id = int;
using core_type_id = int;

namespace detail {

constexpr int kAutomatic = -1;

// On which processors the threads of an arena run, and how many they are. -1 leaves it open. Since
// C++20 an aggregate, so that the members may be named where it is made.
struct constraints {
#if __cplusplus < 202002L
  constraints(numa_node_id node = kAutomatic, int width = kAutomatic)
      : numa_id(node), max_concurrency(width) {}
#endif

  constraints& set_numa_id(numa_node_id node) {
    numa_id = node;
    return *this;
  }
  constraints& set_max_concurrency(int width) {
    max_concurrency = width;
    return *this;
  }
  constraints& set_core_type(core_type_id type) {
    core_type = type;
    return *this;
  }
  constraints& set_max_threads_per_core(int threads) {
    max_threads_per_core = threads;
    return *this;
  }

  numa_node_id numa_id = kAutomatic;
  int max_concurrency = kAutomatic;
  core_type_id core_type = kAutomatic;
  int max_threads_per_core = kAutomatic;
};

}  // namespace detail

namespace info {

// The memory nodes on whose processors this process may run, in ascending order; {-1} where the
// system does not tell. Throws bad_alloc.
CORBEL_EXPORT std::vector<numa_node_id> numa_nodes();

// The kinds of processor cores that this process may run on, the fastest last; {-1} where all are
// alike or the system does not tell. Throws bad_alloc.
CORBEL_EXPORT std::vector<core_type_id> core_types();

// How many threads work in an arena with these constraints that does not say how many; without
// constraints what the process's affinity mask and its container's quota grant.
CORBEL_EXPORT int default_concurrency(const detail::constraints& wishes);
inline int default_concurrency(numa_node_id node = detail::kAutomatic) {
  return default_concurrency(detail::constraints{node});
}

}  // namespace info
}  // namespace corbel

#endif  // CORBEL_INFO_HPP
