// SPDX-License-Identifier: Apache-2.0
#include "profile/profiled_run.hpp"

#include <fmt/core.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "run/child.hpp"
#include "temporary_folder.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

void explain_nothing(int status, const std::string& command, const std::string& no_file,
                     const TemporaryFolder& folder) {
  if (WIFSIGNALED(status)) {
    complain(fmt::format("{} wrote no profile: signal {} ({}) ended it", command, WTERMSIG(status),
                         strsignal(WTERMSIG(status))));
  } else if (is_full(folder)) {
    complain(
        fmt::format("{} wrote no profile: the disk of {} is full (set TMPDIR to a folder with "
                    "room)",
                    command, folder.path()));
  } else {
    complain(
        fmt::format("{} wrote no profile: {} (see: corbel check -- {}), or could not write it "
                    "to {} (set TMPDIR to a folder with room)",
                    command, no_file, command, folder.path()));
  }
}

// The files of `all` that are whole profiles. Says in one line which one is not: a process that was
// killed while it wrote its profile leaves a part of it.
std::vector<std::string> whole_profiles(const std::vector<std::string>& all) {
  if (all.size() < 2) return all;
  std::vector<std::string> whole;
  std::string problem;
  for (const std::string& file : all) {
    try {
      read_profile(file);
      whole.push_back(file);
    } catch (const std::runtime_error& error) {
      problem = error.what();
    }
  }
  if (whole.empty()) return all;
  if (const std::size_t lost = all.size() - whole.size(); lost != 0) {
    complain(
        printable(fmt::format("{} of {} processes did not write their profile to its end and "
                              "are not in it: {}",
                              lost, all.size(), problem)));
  }
  return whole;
}

}  // namespace

std::string title_of(const std::vector<std::string>& command) {
  std::string title;
  for (const std::string& word : command) title += (title.empty() ? "" : " ") + word;
  return title;
}

int run_profiled(const RunOptions& options, const std::string& setting, const std::string& no_file,
                 const std::function<void(const std::vector<std::string>& files)>& report) {
  const TemporaryFolder folder("corbel-profile");
  RunOptions run = options;
  run.profile = setting + ",file=" + path_for(folder, "CORBEL_PROFILE") + "/%p.pb.gz";
  const PreparedRun prepared = prepare_run(run);
  if (prepared.error_code != 0) return prepared.error_code;
  const int status = run_child(run.command, prepared.path).status;
  bool is_made = false;
  try {
    const std::vector<std::string> files = whole_profiles(folder.files());
    if (files.empty()) {
      explain_nothing(status, run.command.front(), no_file, folder);
    } else {
      report(files);
      is_made = true;
    }
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
  }
  if (!is_made && WIFEXITED(status) && WEXITSTATUS(status) == 0) return kExitOwnFailure;
  // A folder is not removed by a process that ends by a signal.
  std::error_code error;
  std::filesystem::remove_all(folder.path(), error);
  return end_like(status);
}

}  // namespace corbel::cli
