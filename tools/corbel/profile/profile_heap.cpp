// SPDX-License-Identifier: Apache-2.0
// `corbel profile heap -- CMD`: runs a command, and makes a profile of what it and its children
// wrote.
#include <fmt/core.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "profile/heap_output.hpp"
#include "profile/output_files.hpp"
#include "profile/profile_command.hpp"
#include "run/child.hpp"
#include "temporary_folder.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

void explain_nothing(int status, const std::string& command) {
  if (WIFSIGNALED(status)) {
    complain(fmt::format("{} wrote no profile: signal {} ({}) ended it", command, WTERMSIG(status),
                         strsignal(WTERMSIG(status))));
  } else {
    complain(
        fmt::format("{} wrote no profile: it requested no memory, ended by _exit, did not run on "
                    "Corbel, or could not write it (see: corbel check -- {})",
                    command, command));
  }
}

}  // namespace

int profile_heap(const HeapOptions& options) {
  try {
    const HeapOutput output = choose_heap_output(options, options.run.command.front());
    const TemporaryFolder folder("corbel-profile");
    RunOptions run = options.run;
    run.profile = "heap";
    if (!options.every.empty()) run.profile += ",every=" + options.every;
    run.profile += ",file=" + path_for(folder, "CORBEL_PROFILE") + "/%p.pb.gz";
    const PreparedRun prepared = prepare_run(run);
    if (prepared.error_code != 0) return prepared.error_code;
    const int status = run_child(run.command, prepared.path).status;
    const std::vector<std::string> files = whole_profiles(folder.files());
    try {
      if (files.empty()) {
        explain_nothing(status, run.command.front());
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return kExitOwnFailure;
      } else {
        write_heap_output(load_profiles(files), output, title_of(run.command));
      }
    } catch (const std::runtime_error& error) {
      complain(printable(error.what()));
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return kExitOwnFailure;
    }
    // A folder is not removed by a process that ends by a signal.
    std::error_code error;
    std::filesystem::remove_all(folder.path(), error);
    return end_like(status);
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitOwnFailure;
  }
}

}  // namespace corbel::cli
