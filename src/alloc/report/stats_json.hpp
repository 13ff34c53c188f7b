// SPDX-License-Identifier: Apache-2.0
// The statistics as JSON.
#pragma once

#include <cstddef>

#include "alloc/report/stats.hpp"
#include "base/text.hpp"

namespace corbel::alloc {

// A buffer of this size suffices for any output of add_json().
inline constexpr std::size_t kMaxJson = std::size_t(24) << 10;

// Adds the object that corbel_heap_stats_json() documents.
void add_json(TextInto& text, const Stats& s);

}  // namespace corbel::alloc
