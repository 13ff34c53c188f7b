// SPDX-License-Identifier: Apache-2.0
// The machine's topology and the concurrency it allows. C++11 and later. Follows the oneTBB
// specification 1.4. Any thread may call any function.
#ifndef CORBEL_INFO_HPP
#define CORBEL_INFO_HPP

#include <cstddef>
#include <tuple>
#include <vector>

#include <corbel/detail/config.hpp>
#include <corbel/detail/program_runtime.hpp>

namespace corbel {

using numa_node_id = int;
using core_type_id = int;

namespace detail {

constexpr int kAutomatic = -1;
constexpr int kSelectable = -2;

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
  core_type_id core_type = kAutomatic;    // run on cores of this type; -2: a selector decides
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

namespace detail {

// Replaces kSelectable by the type of cores that `select` chooses, or by kAutomatic if it chooses
// all types or none. It is called with each type: (type, position in core_types(), their number).
// A type is chosen if the result is positive. Of several but not all, the one with the highest
// result is taken, since an arena can be bound to one.
template <typename Selector>
inline constraints with_selected_cores(
    constraints limits, Selector& select,
    const std::vector<core_type_id>& types = info::core_types()) {
  if (limits.core_type != kSelectable) return limits;
  limits.core_type = kAutomatic;
  if (types.size() < 2) return limits;
  std::size_t chosen = 0;
  int best = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const int score = static_cast<int>(select(std::make_tuple(types[i], i, types.size())));
    if (score > 0) ++chosen;
    if (score > best) {
      best = score;
      limits.core_type = types[i];
    }
  }
  if (chosen == types.size()) limits.core_type = kAutomatic;
  return limits;
}

}  // namespace detail

namespace info {

// Returns the number of threads of an arena that is made with these constraints and this selector
// (see task_arena). Throws what the selector throws, and bad_alloc.
template <typename Selector>
inline int default_concurrency(const detail::constraints& limits, Selector select) {
  return default_concurrency(detail::with_selected_cores(limits, select));
}

}  // namespace info
}  // namespace corbel

#endif  // CORBEL_INFO_HPP
