// SPDX-License-Identifier: Apache-2.0
// `corbel profile time`: runs a command, and shows where it spends time on memory.
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "profile/hot_spots.hpp"
#include "profile/hot_spots_page.hpp"
#include "profile/hot_spots_report.hpp"
#include "profile/output.hpp"
#include "profile/profile_command.hpp"
#include "profile/profiled_run.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

constexpr std::size_t kSpots = 10;  // in the terminal

void report(const TimeOptions& options, const ProfileOutput& output,
            const std::vector<std::string>& files) {
  const Profile profile = load_profiles(files);
  if (!is_time_profile(profile)) {
    throw std::runtime_error(
        "the command wrote a profile that is not one of its time (does it set CORBEL_PROFILE "
        "itself? is its libcorbelmalloc.so.1 as old as this corbel?)");
  }
  const HotSpots spots = find_hot_spots(profile);
  const std::string title = title_of(options.run.command);
  write_profile(profile, output.profile);
  if (!output.page.empty()) write_file(output.page, hot_spots_page(spots, title));
  if (!options.json.empty()) write_file(options.json, hot_spots_json(spots, title));
  const std::string doubt = hot_spots_doubt(spots);
  if (!profile.samples.empty()) tell(hot_spots_text(spots, kSpots, 2));
  if (!doubt.empty()) complain(doubt);
  print_output(output);
}

}  // namespace

int profile_time(const TimeOptions& options) {
  try {
    const ProfileOutput output = choose_output(options.run.command.front(), "time", options.output,
                                               options.page, options.no_page);
    check_output(output);
    if (!options.json.empty()) check_writable(options.json);
    std::string setting = "time";
    if (!options.every.empty()) setting += ",every=" + options.every;
    if (!options.timer.empty()) setting += ",timer=" + options.timer;
    return run_profiled(
        options.run, setting, "it ended by _exit, or the library was not loaded into it",
        [&](const std::vector<std::string>& files) { report(options, output, files); });
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitOwnFailure;
  }
}

}  // namespace corbel::cli
