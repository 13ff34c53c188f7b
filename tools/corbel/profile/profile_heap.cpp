// SPDX-License-Identifier: Apache-2.0
// `corbel profile heap`: runs a command, and makes a profile of what it and its children wrote.
#include <fmt/core.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "profile/output_files.hpp"
#include "profile/profile_command.hpp"
#include "profile/profile_page.hpp"
#include "profile/report.hpp"
#include "program/library.hpp"
#include "run/child.hpp"
#include "temporary_folder.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

void explain_nothing(int status, const std::string& command) {
  if (WIFSIGNALED(status)) {
    complain(fmt::format("{} wrote no profile: signal {} ({}) ended it", command, WTERMSIG(status),
                         strsignal(WTERMSIG(status))));
  } else {
    complain(
        fmt::format("{} wrote no profile: it requested no memory, ended by _exit, or did not run "
                    "on Corbel (see: "
                    "corbel check -- {})",
                    command, command));
  }
}

void report(const HeapOptions& options, const std::string& output,
            const std::vector<std::string>& files) {
  const Profile profile = load_profiles(files);
  write_profile(profile, output);
  const std::string page = options.page.empty() ? page_beside(output) : options.page;
  if (!options.no_page) {
    write_file(page, profile_page(profile, title_of(options.run.command)));
  }
  if (profile.samples.empty()) {
    complain(
        fmt::format("no samples: the command requested too little memory for one (sample "
                    "more often, as with --every 4K)"));
  } else {
    fmt::print(stderr, "{}", profile_table(profile, 10, 2));
  }
  if (!options.no_page) fmt::print(stderr, "page:    {} (open it in a browser)\n", page);
  fmt::print(stderr, "profile: {} (pprof -http=: {})\n", output, output);
}

}  // namespace

int profile_heap(const HeapOptions& options) {
  try {
    const std::string output = options.output.empty()
                                   ? default_output(options.run.command.front(), "heap")
                                   : options.output;
    check_writable(output);
    if (!options.no_page && !options.page.empty()) check_writable(options.page);
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
      } else {
        report(options, output, files);
      }
    } catch (const std::runtime_error& error) {
      complain(printable(error.what()));
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return kExitOwnFailure;
    }
    // A folder is not removed by a process that ends by a signal.
    std::error_code error;
    fs::remove_all(folder.path(), error);
    return end_like(status);
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitOwnFailure;
  }
}

}  // namespace corbel::cli
