// SPDX-License-Identifier: Apache-2.0
// Running a command as a child, for the sub-commands that report afterwards.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace corbel::cli {

// A folder of this run alone, which goes with the object.
struct EndedChild {
  pid_t process;
  int status;  // as waitpid stores it
};

// Runs `command`, whose file is `path`, as a child. What the terminal sends reaches both processes,
// so this one ignores it; what is sent to this one alone is passed on.
EndedChild run_child(const std::vector<std::string>& command, const std::string& path);

// Ends this process as the command ended: returns its exit code, or ends by its signal.
int end_like(int status);

}  // namespace corbel::cli
