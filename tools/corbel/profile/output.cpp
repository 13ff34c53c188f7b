// SPDX-License-Identifier: Apache-2.0
#include "profile/output.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <string_view>

#include "pprof/profile_file.hpp"
#include "profile/profile_page.hpp"
#include "profile/report.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

// "app.heap.pb.gz", or "app.heap.2.pb.gz" where that exists.
std::string default_profile(const std::string& program) {
  const std::string name = fs::path(program).filename().string();
  std::string result = name + ".heap.pb.gz";
  std::error_code error;
  for (int i = 2; fs::exists(result, error); ++i) result = fmt::format("{}.heap.{}.pb.gz", name, i);
  return result;
}

std::string page_beside(const std::string& profile) {
  std::string stem = profile;
  for (const std::string_view ending : {".gz", ".pb"}) {
    if (stem.size() > ending.size() &&
        stem.compare(stem.size() - ending.size(), ending.size(), ending) == 0) {
      stem.resize(stem.size() - ending.size());
    }
  }
  return stem + ".html";
}

}  // namespace

ProfileOutput choose_output(const std::string& program, const std::string& profile,
                            const std::string& page, bool no_page) {
  ProfileOutput output{profile.empty() ? default_profile(program) : profile, page};
  if (no_page) {
    output.page.clear();
  } else if (page.empty()) {
    output.page = page_beside(output.profile);
  }
  return output;
}

void check_output(const ProfileOutput& output) {
  check_writable(output.profile);
  if (!output.page.empty()) check_writable(output.page);
}

void write_output(const Profile& profile, const ProfileOutput& output, const std::string& title) {
  write_profile(profile, output.profile);
  if (!output.page.empty()) write_file(output.page, profile_page(profile, title));
  if (profile.samples.empty()) {
    complain(
        "no samples: the program requested too little memory for one (sample more often, as with "
        "--every 4K)");
  } else {
    fmt::print(stderr, "{}", profile_table(profile, 10, 2));
  }
  if (!output.page.empty()) {
    fmt::print(stderr, "page:    {} (open it in a browser)\n", output.page);
  }
  fmt::print(stderr, "profile: {} (pprof -http=: {})\n", output.profile, output.profile);
}

}  // namespace corbel::cli
