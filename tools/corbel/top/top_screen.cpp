// SPDX-License-Identifier: Apache-2.0
#include "top/top_screen.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "terminal.hpp"

namespace corbel::cli {
namespace {

constexpr char kEnter[] = "\033[?1049h\033[?25l";
constexpr char kLeave[] = "\033[?25h\033[?1049l";

termios saved_terminal;
volatile std::sig_atomic_t size_changed = 0;

void leave_screen() {
  if (write(STDOUT_FILENO, kLeave, sizeof kLeave - 1) < 0) return;
  tcsetattr(STDIN_FILENO, TCSANOW, &saved_terminal);
}

void end_by_signal(int signal) {
  leave_screen();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void note_size(int) { size_changed = 1; }

// The text, cut after `width` columns. Escape sequences take none; of a UTF-8 character, only the
// first byte does.
std::string cut(const std::string& text, int width) {
  std::string result;
  int column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\033') {
      const std::size_t end = text.find('m', i);
      if (end == std::string::npos) break;
      result.append(text, i, end - i + 1);
      i = end;
      continue;
    }
    if ((byte & 0xc0) != 0x80 && ++column > width) continue;
    if (column <= width) result += text[i];
  }
  return result;
}

std::string label(const char* name) { return paint(fmt::format(" {:<9}", name), Colour::kDim); }

std::string size_of(const HeapSample& s, const char* field) { return human_bytes(s[field]); }

std::string rate(double value) {
  if (value == 0) return "0/s";
  return value < 10 ? fmt::format("{:.1f}/s", value) : fmt::format("{:.0f}/s", value);
}

// "soft 400 MiB, 30 % used ▓▓▓▓░░░░░░"; the footprint counts.
std::string limit(const HeapSample& s, const char* name, const char* field) {
  const std::uint64_t bytes = s[field];
  if (bytes == 0) return fmt::format("{} none", name);
  const double share = double(s["footprint"]) / double(bytes);
  constexpr int kWidth = 10;
  const int full = std::clamp(int(share * kWidth + 0.5), 0, kWidth);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < full ? "▓" : "░";
  const Colour colour = share > 0.9 ? Colour::kBad : share > 0.75 ? Colour::kWarn : Colour::kGood;
  return fmt::format("{} {}, {:.0f} % used {}", name, human_bytes(bytes), share * 100,
                     paint(bar, colour));
}

void add_classes(const HeapSample& s, std::size_t most, std::vector<std::string>& lines) {
  struct Row {
    std::uint64_t block_size, used, free;
  };
  std::vector<Row> rows;
  for (const auto& c : s.stats.value("classes", nlohmann::json::array())) {
    const auto field = [&](const char* name) { return c.value(name, std::uint64_t(0)); };
    const std::uint64_t size = field("block_size");
    rows.push_back({size, field("used_blocks") * size,
                    (field("free_blocks") + field("cached_blocks")) * size});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.used > b.used; });
  if (rows.size() > most) rows.resize(most);
  for (const Row& row : rows) {
    lines.push_back(fmt::format("{} {:>10} {:>12} {:>12}", label(""), row.block_size,
                                human_bytes(row.used), human_bytes(row.free)));
  }
}

std::string workers(const HeapSample& s) {
  const std::uint64_t all = s.task_figure("workers");
  const std::uint64_t busy = s.task_figure("busy");
  const std::uint64_t searching = s.task_figure("searching");
  return fmt::format("workers {}: busy {}, looking for tasks {}, parked {}", all, busy, searching,
                     all - std::min(all, busy + searching));
}

}  // namespace

Screen::Screen() {
  tcgetattr(STDIN_FILENO, &saved_terminal);
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT, SIGINT}) std::signal(signal, end_by_signal);
  struct sigaction action{};
  action.sa_handler = note_size;
  sigaction(SIGWINCH, &action, nullptr);
  termios raw = saved_terminal;
  raw.c_lflag &= ~tcflag_t(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  fmt::print("{}", kEnter);
  std::fflush(stdout);
}

Screen::~Screen() {
  std::fflush(stdout);
  leave_screen();
}

void Screen::show(const std::vector<std::string>& lines) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) size = {24, 80, 0, 0};
  std::string frame = "\033[H";
  const std::size_t rows = std::min<std::size_t>(lines.size(), size.ws_row);
  for (std::size_t i = 0; i < rows; ++i) {
    frame += cut(lines[i], size.ws_col) + "\033[K";
    if (i + 1 < size.ws_row) frame += "\r\n";
  }
  frame += rows < size.ws_row ? "\033[J" : "";
  fmt::print("{}", frame);
  std::fflush(stdout);
}

char Screen::wait(double seconds) {
  size_changed = 0;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = poll(&input, 1, int(seconds * 1000));
  if (ready <= 0) return 0;
  char key = 0;
  return read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}

void History::add(HeapSample sample) {
  samples_.push_back(std::move(sample));
  if (samples_.size() > kMax) samples_.pop_front();
}

std::vector<double> History::values(const char* field) const {
  std::vector<double> result;
  for (const HeapSample& sample : samples_) result.push_back(double(sample[field]));
  return result;
}

std::vector<double> History::task_rates(const char* field) const {
  std::vector<double> result;
  for (std::size_t i = 1; i < samples_.size(); ++i) {
    result.push_back(task_rate_of(&samples_[i - 1], samples_[i], field));
  }
  return result;
}

std::string human_bytes(std::uint64_t bytes) {
  const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes) / 1024;
  unsigned unit = 0;
  while (value >= 1023.95 && unit < 3) value /= 1024, ++unit;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string bars(const std::vector<double>& values, std::size_t width) {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t first = values.size() > width ? values.size() - width : 0;
  double most = 0;
  for (std::size_t i = first; i < values.size(); ++i) most = std::max(most, values[i]);
  std::string result;
  for (std::size_t i = first; i < values.size(); ++i) {
    const double share = most > 0 ? values[i] / most : 0;
    result += kBars[std::clamp(int(share * 8), 0, 7)];
  }
  return result;
}

std::vector<std::string> draw_process(const History& history, int width, int height) {
  const HeapSample& s = history.last();
  const HeapSample* before = history.before();
  const Gauges& g = s.gauges;
  const std::size_t room = std::size_t(std::max(10, width - 48));
  std::vector<std::string> lines;
  lines.push_back(paint(fmt::format("corbel top: process {}, {}", s.process.pid, s.process.command),
                        Colour::kBold));
  lines.push_back("");
  lines.push_back(fmt::format("{} {:>11}   peak {:>11}   {}", label("footprint"),
                              size_of(s, "footprint"), size_of(s, "peak_footprint"),
                              bars(history.values("footprint"), room)));
  lines.push_back(fmt::format("{} {:>11}   in {} large blocks {}   {}", label("live"),
                              size_of(s, "live"), s["large_count"], size_of(s, "large_live"),
                              bars(history.values("live"), room > 8 ? room - 8 : room)));
  lines.push_back(fmt::format("{} {}; {}", label("limits"), limit(s, "soft", "soft_limit"),
                              limit(s, "hard", "hard_limit")));
  if (s["limit_episodes"] != 0 || s["limit_refusals"] != 0) {
    lines.push_back(fmt::format("{} over the soft limit {} times, {} requests refused, searched {}",
                                label(""), s["limit_episodes"], s["limit_refusals"],
                                rate(rate_of(before, s, "limit_searches"))));
  }
  lines.push_back("");
  lines.push_back(fmt::format("{} allocated {:>11}   active {:>11}   resident {:>11}",
                              label("gauges"), human_bytes(g.allocated), human_bytes(g.active),
                              human_bytes(g.resident)));
  lines.push_back(fmt::format("{} retained  {:>11}   mapped {:>11}   metadata {:>11}", label(""),
                              human_bytes(g.retained), human_bytes(g.mapped),
                              human_bytes(g.metadata)));
  lines.push_back(fmt::format("{} slabs {:>11}   threads' caches {:>11}   spans {:>11}",
                              label("free in"), human_bytes(s["slab_free"] + s["orphan_free"]),
                              size_of(s, "thread_cached"), size_of(s, "free_resident")));
  lines.push_back("");
  lines.push_back(fmt::format("{} purged {}, mapped {} (system calls)", label("system"),
                              rate(rate_of(before, s, "purge_calls")),
                              rate(rate_of(before, s, "map_calls"))));
  lines.push_back(fmt::format("{} {} with a heap, {} heaps of idle ones taken over; helper {}",
                              label("threads"), s["threads"], s["heaps_taken_over"],
                              s.stats.value("helper_thread", std::string("none"))));
  if (s.tasks) {
    lines.push_back(fmt::format("{} {}", label("tasks"), workers(s)));
    lines.push_back(fmt::format("{} stolen {:>8}   {}", label(""),
                                rate(task_rate_of(before, s, "stolen")),
                                bars(history.task_rates("stolen"), room)));
  }
  const int left = height - int(lines.size()) - 4;
  if (left > 0) {
    lines.push_back("");
    lines.push_back(
        paint(fmt::format(" {:<9} {:>10} {:>12} {:>12}", "blocks", "bytes", "used", "free"),
              Colour::kDim));
    add_classes(s, std::size_t(left), lines);
  }
  while (int(lines.size()) < height - 1) lines.push_back("");
  lines.push_back(paint(" q quits", Colour::kDim));
  return lines;
}

std::vector<std::string> draw_list(const std::vector<ListEntry>& entries, int) {
  std::vector<std::string> lines;
  lines.push_back(paint(fmt::format("{:>8} {:<16} {:>11} {:>11} {:>11} {:>8}", "PID", "COMMAND",
                                    "FOOTPRINT", "LIVE", "PEAK", "THREADS"),
                        Colour::kBold));
  for (const ListEntry& entry : entries) {
    if (entry.sample) {
      const HeapSample& s = *entry.sample;
      lines.push_back(fmt::format("{:>8} {:<16} {:>11} {:>11} {:>11} {:>8}", s.process.pid,
                                  s.process.command, size_of(s, "footprint"), size_of(s, "live"),
                                  size_of(s, "peak_footprint"), s["threads"]));
    } else {
      lines.push_back(fmt::format("{:>8} {:<16} {}", entry.process.pid, entry.process.command,
                                  paint(entry.error, Colour::kDim)));
    }
  }
  if (entries.empty()) {
    lines.push_back("No process on Corbel that you may ask. Start one with 'corbel run -- CMD'.");
  }
  return lines;
}

std::string summary_line(const HeapSample* before, const HeapSample& now) {
  std::string line = fmt::format(
      "{} {}: footprint {} (peak {}), live {}, resident {}, threads {}, purged {}", now.process.pid,
      now.process.command, size_of(now, "footprint"), size_of(now, "peak_footprint"),
      size_of(now, "live"), human_bytes(now.gauges.resident), now["threads"],
      rate(rate_of(before, now, "purge_calls")));
  if (now.tasks) {
    line += fmt::format(", {}, stolen {}", workers(now), rate(task_rate_of(before, now, "stolen")));
  }
  return line;
}

}  // namespace corbel::cli
