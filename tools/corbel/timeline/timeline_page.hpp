// SPDX-License-Identifier: Apache-2.0
// The timeline as one HTML page that needs no network.
#pragma once

#include <string>

#include "timeline/trace_file.hpp"

namespace corbel::cli::timeline {

// Returns an empty text, or in one line what is wrong and what to do. `title` is what was traced.
std::string write_page(const Trace& trace, const std::string& title, const std::string& path);

}  // namespace corbel::cli::timeline
