// SPDX-License-Identifier: Apache-2.0
// The memory of containers at rest, empty and for an element: see at_rest.hpp.
#pragma once

#include "../at_rest.hpp"

namespace container_memory {

using Number = std::uint64_t;

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  using at_rest::sizes;
  const unsigned few = 5'000, many = 200'000;
  return at_rest::description(
      "container_memory", "Memory of containers",
      "The resident memory of an empty container, and of an element (two 64-bit numbers in a map, "
      "one elsewhere) of a container with 200,000 of them. The serial program has the standard "
      "containers.",
      "container",
      {sizes("hash map, empty", "hash_map", few), sizes("hash map, element", "in_hash_map", many),
       sizes("unordered map, empty", "unordered_map", few),
       sizes("unordered map, element", "in_unordered_map", many),
       sizes("ordered map, empty", "map", few), sizes("ordered map, element", "in_map", many),
       sizes("vector, empty", "vector", few), sizes("vector, element", "in_vector", many),
       sizes("queue, empty", "queue", few), sizes("queue, element", "in_queue", many),
       sizes("bounded queue, empty", "bounded_queue", few),
       sizes("priority queue, empty", "priority_queue", few),
       sizes("priority queue, element", "in_priority_queue", many)},
      run);
}

}  // namespace container_memory
