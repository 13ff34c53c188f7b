// SPDX-License-Identifier: Apache-2.0
// `corbel profile show` and `corbel profile diff`.
#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "profile/hot_spots.hpp"
#include "profile/hot_spots_page.hpp"
#include "profile/hot_spots_report.hpp"
#include "profile/profile_command.hpp"
#include "profile/profile_page.hpp"
#include "profile/report.hpp"
#include "symbols/symbolize.hpp"
#include "symbols/task_label.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

void check_not_empty(const Profile& profile, const std::string& name) {
  if (!profile.samples.empty()) return;
  throw std::runtime_error(
      fmt::format("{} has no samples: the program requested too little memory for one (sample "
                  "more often, as with --every 4K)",
                  name));
}

int show_time(const Profile& profile, const std::string& name, const ShowOptions& options) {
  const HotSpots spots = find_hot_spots(profile);
  const std::string doubt = hot_spots_doubt(spots);
  if (profile.samples.empty()) throw std::runtime_error(name + ": " + doubt);
  if (!options.output.empty()) write_profile(profile, options.output);
  if (!options.page.empty()) write_file(options.page, hot_spots_page(spots, name));
  if (!options.json.empty()) write_file(options.json, hot_spots_json(spots, name));
  fmt::print("{}", hot_spots_text(spots, static_cast<std::size_t>(options.count), 1));
  if (!doubt.empty()) complain(doubt);
  return kExitOk;
}

}  // namespace

Profile load_profiles(const std::vector<std::string>& files) {
  std::vector<Profile> parts;
  for (const std::string& file : files) parts.push_back(read_profile(file));
  return name_profiles(std::move(parts));
}

Profile name_profiles(std::vector<Profile> parts) {
  for (Profile& part : parts) name_code_without_file(part);
  Profile times;
  take_time(times, parts);
  // What only started others is not in the profile, and does not make it one of several processes.
  const bool some = std::any_of(parts.begin(), parts.end(),
                                [](const Profile& part) { return !part.samples.empty(); });
  if (some) std::erase_if(parts, [](const Profile& part) { return part.samples.empty(); });
  // Together, so that a file that several processes have is read once.
  Profile profile = merge(parts);
  profile.time_ns = times.time_ns;
  profile.duration_ns = times.duration_ns;
  if (const std::string advice = symbolize(profile); !advice.empty()) {
    complain(printable(advice));
  }
  const bool is_of_time = is_time_profile(profile);
  // In a profile of time, they say what the time is spent on.
  if (!is_of_time) drop_allocator_frames(profile);
  label_tasks(profile);
  if (is_of_time) label_kinds(profile);
  return profile;
}

int profile_show(const ShowOptions& options) {
  try {
    const Profile profile = load_profiles(options.files);
    const std::string name =
        file_name(options.files.front()) +
        (options.files.size() > 1 ? fmt::format(" and {} more", options.files.size() - 1) : "");
    if (is_time_profile(profile)) return show_time(profile, name, options);
    check_not_empty(profile, name);
    if (!options.json.empty()) {
      throw std::runtime_error(
          fmt::format("{} is no profile of time, and --json is for these alone", name));
    }
    if (!options.output.empty()) write_profile(profile, options.output);
    if (!options.page.empty()) write_file(options.page, profile_page(profile, name));
    fmt::print("{}", profile_table(profile, static_cast<std::size_t>(options.count), 1));
    return kExitOk;
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitNo;
  }
}

int profile_diff(const DiffOptions& options) {
  try {
    const Profile before = load_profiles({options.before});
    const Profile after = load_profiles({options.after});
    if (before.samples.empty()) check_not_empty(after, "both together: the second profile");
    const Profile both = side_by_side(before, after);
    if (!options.page.empty()) {
      write_file(options.page, difference_page(both, file_name(options.before) + " → " +
                                                         file_name(options.after)));
    }
    fmt::print("{}", difference_table(both, static_cast<std::size_t>(options.count), 1));
    return kExitOk;
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitNo;
  }
}

}  // namespace corbel::cli
