// SPDX-License-Identifier: Apache-2.0
// A progress bar with the time left; plain lines where there is no terminal.
#include "compare/progress.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "terminal.hpp"

namespace corbel::cli {

std::string human_seconds(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 5400) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

Progress::Progress(std::size_t total, bool quiet)
    : total_(total), quiet_(quiet), terminal_(is_terminal(2)) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (!quiet_ && terminal_) {
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }
}

void Progress::start(const std::string& label) {
  label_ = label;
  if (!quiet_ && terminal_) draw();
}

void Progress::done(double seconds) {
  ++finished_;
  spent_ += seconds;
  if (quiet_) return;
  if (terminal_) {
    draw();
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_line_ >= std::chrono::seconds(5)) {
    last_line_ = now;
    const double left =
        spent_ / static_cast<double>(finished_) * static_cast<double>(total_ - finished_);
    fmt::print(stderr, "corbel: {} of {} runs{}\n", finished_, total_,
               finished_ == total_ ? std::string() : fmt::format(", {} left", human_seconds(left)));
    std::fflush(stderr);
  }
}

void Progress::draw() {
  const double share =
      total_ == 0 ? 1.0 : static_cast<double>(finished_) / static_cast<double>(total_);
  std::string left;
  if (finished_ > 0) {
    const double per_step = spent_ / static_cast<double>(finished_);
    left = human_seconds(per_step * static_cast<double>(total_ - finished_)) + " left";
  }
  const std::string tail = fmt::format(" {}/{} {} {}", finished_, total_, label_, left);
  const int room = std::max(terminal_width(2) - static_cast<int>(tail.size()) - 4, 8);
  const int width = std::min(room, 40);
  const auto full = static_cast<int>(share * width + 0.5);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? "━" : "─";
  fmt::print(stderr, "\r\033[K {}{}", paint(bar, Colour::kGood, 2), tail);
  std::fflush(stderr);
}

}  // namespace corbel::cli
