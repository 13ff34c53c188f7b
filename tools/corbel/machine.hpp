// SPDX-License-Identifier: Apache-2.0
// Facts about the machine that a measurement is worth nothing without.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace corbel::cli {

// Processor, cores, memory, kernel, C library, distribution, huge page setting, load.
nlohmann::json machine_facts();

// The same in one line.
std::string machine_line();

}  // namespace corbel::cli
