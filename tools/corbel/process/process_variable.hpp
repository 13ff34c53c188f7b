// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace corbel::cli {

// An environment variable that a running process was started with.
std::optional<std::string> process_variable(int pid, std::string_view name);

}  // namespace corbel::cli
