// SPDX-License-Identifier: Apache-2.0
// Where the options come from: the environment and the program's calls.
#pragma once

#include <cstddef>

#include "alloc/map/options.hpp"

namespace corbel::alloc {

// Reads the environment; wrong values are named on stderr and ignored. Called once, when
// the first heap is attached.
void read_options();

// Set by a call of the program: overrides the environment, even if that is read later.
void set_huge_pages(HugePages policy);
void set_huge_threshold(std::size_t bytes);

}  // namespace corbel::alloc
