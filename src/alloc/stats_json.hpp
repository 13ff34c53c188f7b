// SPDX-License-Identifier: Apache-2.0
// The figures as JSON.
#pragma once

#include <cstddef>

#include "alloc/allocator.hpp"
#include "base/text.hpp"

namespace corbel::alloc {

// A buffer of this size takes any JSON of the figures.
inline constexpr std::size_t kLongestJson = std::size_t(24) << 10;

// Adds the object that corbel_heap_stats_json() documents.
void add_json(TextInto& text, const Stats& s);

}  // namespace corbel::alloc
