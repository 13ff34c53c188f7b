// SPDX-License-Identifier: Apache-2.0
// A progress bar with the time left; plain lines where there is no terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace corbel::cli {

class Progress {
 public:
  // For `total` steps. Writes to stderr, or nothing when `quiet`.
  Progress(std::size_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Step `label` starts.
  void start(const std::string& label);
  // One step has ended; it took `seconds`.
  void done(double seconds);

 private:
  void draw();
  void clear();

  std::size_t total_;
  std::size_t finished_ = 0;
  std::chrono::steady_clock::time_point last_line_ = std::chrono::steady_clock::now();
  double spent_ = 0;
  bool quiet_;
  bool terminal_;
  std::string label_;
};

// "1 min 20 s" or "3.2 s".
std::string human_seconds(double seconds);

}  // namespace corbel::cli
