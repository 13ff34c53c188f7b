// SPDX-License-Identifier: Apache-2.0
// The facts about the machine that every measurement must state.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace corbel::cli {

// Processor, cores, memory, kernel, C library, distribution, huge page setting, load.
nlohmann::json machine_facts();

// The same facts in one line.
std::string machine_line();

}  // namespace corbel::cli
