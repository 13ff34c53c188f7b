// SPDX-License-Identifier: Apache-2.0
// The machine's topology and the concurrency it allows. C++11 and later. Follows the oneTBB
// specification 1.4. Any thread may call any function.
#ifndef CORBEL_INFO_HPP
#define CORBEL_INFO_HPP

#include <vector>

#include <corbel/detail/config.hpp>

namespace corbel {

using numa_node_id = int;
using core_type_id = int;

namespace detail {

constexpr int kAutomatic = -1;

// task_arena::constraints: on which processors the threads of an arena run, and how many there are.
// -1 means no constraint. An aggregate from C++20 on, to allow designated initializers.
struct constraints {
#if __cplusplus < 202002L
  constraints(numa_node_id node = kAutomatic, int width = kAutomatic)
      : numa_id(node), max_concurrency(width) {}
#endif

  // Each sets one member and returns the object.
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

  numa_node_id numa_id = kAutomatic;      // run on this memory node
  int max_concurrency = kAutomatic;       // number of threads
  core_type_id core_type = kAutomatic;    // run on cores of this type
  int max_threads_per_core = kAutomatic;  // at most this many threads per core; at least 1
};

}  // namespace detail

namespace info {

// Returns the memory nodes on whose processors the process may run, in ascending order; {-1} if the
// system does not report them. Throws bad_alloc.
CORBEL_EXPORT std::vector<numa_node_id> numa_nodes();

// Returns the types of the cores on which the process may run, the fastest last; {-1} if there is
// only one type or the system does not report them. Throws bad_alloc.
CORBEL_EXPORT std::vector<core_type_id> core_types();

// Returns the number of threads of an arena that has these constraints and no max_concurrency.
// Without constraints that is the number of processors that the process's affinity mask and its
// container's quota grant. Throws std::invalid_argument if max_threads_per_core is neither positive
// nor -1.
CORBEL_EXPORT int default_concurrency(const detail::constraints& limits);
inline int default_concurrency(numa_node_id node = detail::kAutomatic) {
  return default_concurrency(detail::constraints{node});
}

}  // namespace info
}  // namespace corbel

#endif  // CORBEL_INFO_HPP
