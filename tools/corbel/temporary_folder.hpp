// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace corbel::cli {

// A folder that is removed, with what is in it, at the end of the scope.
class TemporaryFolder {
 public:
  // The folder's name begins with `prefix`. It lies in TMPDIR or, where that does not work, in
  // /tmp.
  explicit TemporaryFolder(const char* prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty if the folder could not be made.
  const std::string& path() const { return path_; }
  // The files in it, in the order of their names.
  std::vector<std::string> files() const;

 private:
  std::string path_;
};

// Whether the folder's disk has no room for a report.
bool is_full(const TemporaryFolder& folder);

// The folder's path as an entry of a list with commas, the value of the environment variable
// `used_in`. Throws std::runtime_error with one line if there is no folder, or if the list cannot
// express its path.
const std::string& path_for(const TemporaryFolder& folder, const char* used_in);

}  // namespace corbel::cli
