// SPDX-License-Identifier: Apache-2.0
#include "profile/output.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <string_view>

#include "pprof/profile_file.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

std::string default_profile(const std::string& program, const std::string& kind) {
  const std::string name = fmt::format("{}.{}", fs::path(program).filename().string(), kind);
  std::string result = name + ".pb.gz";
  std::error_code error;
  for (int i = 2; fs::exists(result, error); ++i) result = fmt::format("{}.{}.pb.gz", name, i);
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

ProfileOutput choose_output(const std::string& program, const std::string& kind,
                            const std::string& profile, const std::string& page, bool no_page) {
  ProfileOutput output{profile.empty() ? default_profile(program, kind) : profile, page};
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

void print_output(const ProfileOutput& output) {
  if (!output.page.empty()) {
    tell(fmt::format("page:    {} (open it in a browser)\n", output.page));
  }
  tell(fmt::format("profile: {} (pprof -http=: {})\n", output.profile, output.profile));
}

}  // namespace corbel::cli
