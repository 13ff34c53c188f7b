// SPDX-License-Identifier: Apache-2.0
#include "profile/output_files.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;

std::string default_output(const std::string& program, const std::string& kind) {
  const std::string name = fs::path(program).filename().string();
  std::string result = fmt::format("{}.{}.pb.gz", name, kind);
  std::error_code error;
  for (int i = 2; fs::exists(result, error); ++i)
    result = fmt::format("{}.{}.{}.pb.gz", name, kind, i);
  return result;
}

std::string page_beside(const std::string& output) {
  std::string stem = output;
  for (const std::string_view ending : {".gz", ".pb"}) {
    if (stem.size() > ending.size() &&
        stem.compare(stem.size() - ending.size(), ending.size(), ending) == 0) {
      stem.resize(stem.size() - ending.size());
    }
  }
  return stem + ".html";
}

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

std::string title_of(const std::vector<std::string>& command) {
  std::string title;
  for (const std::string& word : command) title += (title.empty() ? "" : " ") + word;
  return title;
}

}  // namespace corbel::cli
