// SPDX-License-Identifier: Apache-2.0
#include "temporary_folder.hpp"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace corbel::cli {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const char* prefix) {
  const char* chosen = std::getenv("TMPDIR");
  for (const std::string& place :
       {std::string(chosen == nullptr ? "" : chosen), std::string("/tmp")}) {
    if (place.empty()) continue;
    std::string name = fmt::format("{}/{}-XXXXXX", place, prefix);
    if (mkdtemp(name.data()) == nullptr) continue;
    path_ = name;
    return;
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

std::vector<std::string> TemporaryFolder::files() const {
  std::vector<std::string> list;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    list.push_back(entry.path().string());
  }
  std::sort(list.begin(), list.end());
  return list;
}

bool is_full(const TemporaryFolder& folder) {
  constexpr std::uintmax_t kRoom = 1 << 20;
  std::error_code error;
  const fs::space_info space = fs::space(folder.path(), error);
  return !error && space.available < kRoom;
}

const std::string& path_for(const TemporaryFolder& folder, const char* used_in) {
  const std::string& path = folder.path();
  if (path.empty()) {
    throw std::runtime_error("cannot make a folder in TMPDIR or in /tmp (set TMPDIR)");
  }
  if (path.find_first_of(",%") != std::string::npos) {
    throw std::runtime_error(fmt::format(
        "TMPDIR has a ',' or a '%' in it, which {} cannot express: {} (set TMPDIR=/tmp)", used_in,
        path));
  }
  return path;
}

}  // namespace corbel::cli
