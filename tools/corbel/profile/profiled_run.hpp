// SPDX-License-Identifier: Apache-2.0
// A command that is run to be profiled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/run.hpp"

namespace corbel::cli {

// Runs the command with CORBEL_PROFILE=`setting`, and calls `report` with the files that its
// processes wrote. If there is none, prints why, which is `no_file` for a command that ended by
// itself. Returns the command's exit code, but 125 in the place of 0 where there is no report; or
// ends by the signal that ended the command. Both may throw std::runtime_error with one line.
int run_profiled(const RunOptions& options, const std::string& setting, const std::string& no_file,
                 const std::function<void(const std::vector<std::string>& files)>& report);

// The command as one text.
std::string title_of(const std::vector<std::string>& command);

}  // namespace corbel::cli
