// SPDX-License-Identifier: Apache-2.0
// The names of the functions that run tasks.
#pragma once

#include <string>

#include "timeline/trace_file.hpp"

namespace corbel::cli::timeline {

// Looks the functions up in the symbol tables of their files, and names them for people.
void name_functions(Trace* trace);

// The body that a task of Corbel's runs, and the algorithm: "count, lambda 1 (task_group)". `full`
// is a demangled name; another function's comes without its parameters and template arguments.
std::string short_name(const std::string& full);

}  // namespace corbel::cli::timeline
