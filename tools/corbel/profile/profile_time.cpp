// SPDX-License-Identifier: Apache-2.0
// `corbel profile time`: runs a command, and shows where it spends time on memory.
#include <fmt/core.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "profile/hot_spots.hpp"
#include "profile/hot_spots_page.hpp"
#include "profile/hot_spots_report.hpp"
#include "profile/output_files.hpp"
#include "profile/profile_command.hpp"
#include "run/child.hpp"
#include "temporary_folder.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kSpots = 10;  // in the terminal

void explain_nothing(int status, const std::string& command) {
  if (WIFSIGNALED(status)) {
    complain(fmt::format("{} wrote no profile: signal {} ({}) ended it", command, WTERMSIG(status),
                         strsignal(WTERMSIG(status))));
  } else {
    complain(
        fmt::format("{} wrote no profile: it ended by _exit, or the library was not loaded into it "
                    "(see: corbel check -- {})",
                    command, command));
  }
}

void report(const TimeOptions& options, const std::string& output,
            const std::vector<std::string>& files) {
  const Profile profile = load_profiles(files);
  if (!is_time_profile(profile)) {
    throw std::runtime_error(
        "the command wrote a profile that is not one of its time (does it set CORBEL_PROFILE "
        "itself? is its libcorbelmalloc.so.1 as old as this corbel?)");
  }
  const HotSpots spots = find_hot_spots(profile);
  const std::string title = title_of(options.run.command);
  write_profile(profile, output);
  const std::string page = options.page.empty() ? page_beside(output) : options.page;
  if (!options.no_page) write_file(page, hot_spots_page(spots, title));
  if (!options.json.empty()) write_file(options.json, hot_spots_json(spots, title));
  const std::string doubt = hot_spots_doubt(spots);
  if (!profile.samples.empty()) fmt::print(stderr, "{}", hot_spots_text(spots, kSpots, 2));
  if (!doubt.empty()) complain(doubt);
  if (!options.no_page) fmt::print(stderr, "page:    {} (open it in a browser)\n", page);
  fmt::print(stderr, "profile: {} (pprof -http=: {})\n", output, output);
}

}  // namespace

int profile_time(const TimeOptions& options) {
  try {
    const std::string output = options.output.empty()
                                   ? default_output(options.run.command.front(), "time")
                                   : options.output;
    check_writable(output);
    if (!options.no_page && !options.page.empty()) check_writable(options.page);
    if (!options.json.empty()) check_writable(options.json);
    const TemporaryFolder folder("corbel-profile");
    RunOptions run = options.run;
    run.profile = "time";
    if (!options.every.empty()) run.profile += ",every=" + options.every;
    run.profile += ",file=" + path_for(folder, "CORBEL_PROFILE") + "/%p.pb.gz";
    const PreparedRun prepared = prepare_run(run);
    if (prepared.error_code != 0) return prepared.error_code;
    const int status = run_child(run.command, prepared.path).status;
    try {
      const std::vector<std::string> files = whole_profiles(folder.files());
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
