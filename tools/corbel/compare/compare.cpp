// SPDX-License-Identifier: Apache-2.0
// `corbel compare`: the rounds. In each round every side runs once, in a new random order, so that
// a slow drift of the machine affects all sides alike.
#include "compare/compare.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

#include "check/check.hpp"
#include "compare/progress.hpp"
#include "pprof/profile_file.hpp"
#include "program/library.hpp"
#include "program/program.hpp"
#include "terminal.hpp"

extern char** environ;

namespace corbel::cli {
namespace {

// A file in memory that takes one run's output.
class Capture {
 public:
  explicit Capture(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~Capture() {
    if (fd_ >= 0) close(fd_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  int fd() const { return fd_; }

  void reset() {
    if (ftruncate(fd_, 0) == 0) lseek(fd_, 0, SEEK_SET);
  }
  std::uint64_t size() const {
    struct stat info{};
    return fstat(fd_, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
  }
  // FNV-1a of the whole content, so that outputs are compared without being kept.
  std::uint64_t digest() const {
    std::uint64_t hash = 14695981039346656037u;
    char buffer[65536];
    off_t at = 0;
    for (ssize_t got; (got = pread(fd_, buffer, sizeof(buffer), at)) > 0; at += got) {
      for (ssize_t i = 0; i < got; ++i) {
        hash = (hash ^ static_cast<unsigned char>(buffer[i])) * 1099511628211u;
      }
    }
    return hash;
  }
  // The last non-empty line.
  std::string last_line() const {
    char buffer[1024];
    const auto length = static_cast<off_t>(size());
    const off_t from = std::max<off_t>(0, length - static_cast<off_t>(sizeof(buffer)));
    const ssize_t got = pread(fd_, buffer, sizeof(buffer), from);
    std::string text(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    const std::size_t line = text.rfind('\n');
    return line == std::string::npos ? text : text.substr(line + 1);
  }

 private:
  int fd_;
};

std::vector<std::string> environment_with(const std::string& preload,
                                          const std::string& library_path) {
  std::vector<std::string> list;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    if (text.rfind("LD_PRELOAD=", 0) != 0 && text.rfind("LD_LIBRARY_PATH=", 0) != 0) {
      list.emplace_back(text);
    }
  }
  if (!preload.empty()) list.push_back("LD_PRELOAD=" + preload);
  if (!library_path.empty()) list.push_back("LD_LIBRARY_PATH=" + library_path);
  return list;
}

// What the sides have in common: the environment without anything of Corbel.
struct Base {
  std::string preload, library_path;
};

Base base_environment() {
  return {without_corbel(variable(kPreloadVariable)),
          library_path_without_corbel(variable(kPathVariable))};
}

// The sides to run. Sets `error` when they cannot be set up.
std::vector<Side> make_sides(const CompareOptions& options, const std::string& library,
                             const Base& base, const TbbSetup& tbb, std::string& error) {
  std::vector<Side> sides;
  const auto add = [&](const std::string& name, const std::string& path) {
    Side side;
    side.name = name;
    side.library = path;
    side.environment = environment_with(
        path.empty() ? base.preload : prepend_preload(path, base.preload), base.library_path);
    sides.push_back(std::move(side));
  };
  add("system", "");
  add("corbel", library);
  if (!tbb.library.empty()) {
    sides.back().tbb = tbb.library;
    sides.back().environment =
        environment_with(prepend_preload(library, tbb.preload), tbb.library_path);
  }
  for (const std::string& text : options.with) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string path = text.substr(equals + 1);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
      error = fmt::format("--with {}: there is no file {}", name, path);
      return {};
    }
    const std::string full = std::filesystem::absolute(path, ignored).string();
    error = preload_path_problem(full);
    if (!error.empty()) return {};
    if (std::any_of(sides.begin(), sides.end(),
                    [&](const Side& side) { return side.name == name; })) {
      error = fmt::format("--with {}: there is a side of this name already", name);
      return {};
    }
    add(name, full);
  }
  return sides;
}

void add_once(std::vector<std::string>& lines, const std::string& line) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
}

class Rounds {
 public:
  Rounds(const CompareOptions& options, std::string path, Comparison& comparison)
      : options_(options), path_(std::move(path)), comparison_(comparison) {}

  // False when the command could not be started.
  bool go() {
    const std::size_t sides = comparison_.sides.size();
    const auto rounds = static_cast<std::size_t>(options_.runs + options_.warmup);
    Progress progress(sides * rounds, options_.quiet || options_.show_output);
    std::mt19937_64 random(options_.seed);
    std::vector<std::size_t> order(sides);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < sides; ++i) order[i] = i;
      // Not std::shuffle: its result for a given seed depends on the standard library.
      for (std::size_t i = sides; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
      for (const std::size_t index : order) {
        const bool counts = round >= static_cast<std::size_t>(options_.warmup);
        progress.start(comparison_.sides[index].name + (counts ? "" : " (warm-up)"));
        const auto result = one_run(comparison_.sides[index]);
        if (!result) return false;
        progress.done(result->wall);
        if (!counts) continue;
        comparison_.sides[index].results.push_back(*result);
        comparison_.order.push_back(index);
      }
    }
    return true;
  }

 private:
  std::optional<RunResult> one_run(const Side& side) {
    RunRequest request;
    request.command = options_.command;
    request.path = path_;
    request.environment = side.environment;
    output_.reset();
    errors_.reset();
    if (!options_.show_output) {
      request.output = options_.check_output ? output_.fd() : null_;
      request.errors = errors_.fd();
    }
    const RunResult result = measure(request);
    if (!result.started) {
      complain(fmt::format("cannot execute {}: {}", path_, result.error));
      return std::nullopt;
    }
    compare_with_first(side, result);
    return result;
  }

  void compare_with_first(const Side& side, const RunResult& result) {
    const std::uint64_t digest = options_.check_output ? output_.digest() : 0;
    const std::uint64_t size = options_.check_output ? output_.size() : 0;
    if (!first_) {
      first_ = First{side.name, result.exit_code, digest, size};
      if (result.exit_code != 0) {
        const std::string said = errors_.last_line();
        add_once(comparison_.warnings,
                 fmt::format("the command ends with exit code {}{}", result.exit_code,
                             said.empty() ? "" : fmt::format(" ({})", said)));
      }
      return;
    }
    if (result.exit_code != first_->exit_code) {
      const std::string said = errors_.last_line();
      report(
          side.name + " exit",
          fmt::format("exit codes differ: {} on {}, {} on {}{}", first_->exit_code, first_->side,
                      result.exit_code, side.name, said.empty() ? "" : fmt::format(" ({})", said)));
    }
    if (digest != first_->digest || size != first_->size) {
      report(side.name + " output",
             fmt::format("the output differs: {} bytes on {}, {} bytes on {}, not the same",
                         first_->size, first_->side, size, side.name));
    }
  }

  void report(const std::string& key, const std::string& problem) {
    if (reported_.insert(key).second) add_once(comparison_.problems, problem);
  }

  struct First {
    std::string side;
    int exit_code;
    std::uint64_t digest, size;
  };

  const CompareOptions& options_;
  std::string path_;
  Comparison& comparison_;
  Capture output_{"corbel-output"};
  Capture errors_{"corbel-errors"};
  int null_ = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::optional<First> first_;
  std::set<std::string> reported_;
};

}  // namespace

bool disturbed(const RunResult& run) {
  // /proc/stat counts in ticks of 10 ms, so a few of them mean nothing.
  const double taken = run.other_cpu + run.steal;
  return taken > 0.03 && taken > 0.05 * run.wall;
}

int compare(const CompareOptions& options) {
  if (!options.json_file.empty() && options.json_file != "-") {
    try {
      check_writable(options.json_file);
    } catch (const std::runtime_error& error) {
      complain(printable(error.what()));
      return kExitOwnFailure;
    }
  }
  const LibrarySearch library = find_library();
  if (!library.error.empty()) {
    complain(library.error);
    return kExitOwnFailure;
  }
  const Program program = examine_program(options.command.front(), library.path);
  if (program.error_code != 0) {
    complain(program.error);
    return program.error_code;
  }
  if (const std::string path = preload_path_problem(library.path); !path.empty()) {
    complain(path);
    return kExitOwnFailure;
  }
  const Base base = base_environment();
  TbbSetup tbb;
  if (options.tbb != TbbMode::kOff) {
    tbb = set_up_tbb(options.tbb, library.path, program, base.preload, base.library_path);
    if (!tbb.error.empty()) {
      complain(tbb.error);
      return kExitOwnFailure;
    }
  }
  Comparison comparison;
  std::string problem;
  comparison.sides = make_sides(options, library.path, base, tbb, problem);
  if (problem.empty() && options.append) problem = read_comparison(options, comparison);
  if (!problem.empty()) {
    complain(problem);
    return kExitUsage;
  }
  for (const Obstacle& obstacle : program.obstacles) {
    if (!options.force) {
      complain(fmt::format("{}: {} (--force compares all the same)", program.path, obstacle.text));
      return kExitCannotExecute;
    }
    add_once(comparison.warnings, obstacle.text);
  }
  if (program.obstacles.empty()) {
    // Without an active Corbel the comparison would be of the system's malloc with itself.
    const CheckReport report = check_command(options.command, false, options.tbb);
    if (report.error_code == 0 && !report.active && report.mode == "run") {
      for (const Obstacle& reason : report.reasons) add_once(comparison.warnings, reason.text);
    }
    if (options.tbb != TbbMode::kOff && report.error_code == 0 && report.active) {
      for (const Obstacle& reason : explain_tbb(report.tbb)) {
        add_once(comparison.warnings, reason.text);
      }
      if (!report.tbb) {
        add_once(comparison.warnings,
                 fmt::format("{} does not load {} when it starts",
                             report.script ? "the script's interpreter" : "the program", kTbbName));
      }
    }
    if (report.mode == "as-is" && report.how.find("linked") != std::string::npos) {
      add_once(comparison.warnings,
               "the program is linked with a replacement already, so no side runs on the system's "
               "malloc");
    }
  }
  const std::string& start = program.scripts.empty() ? program.path : program.scripts.front();
  if (!Rounds(options, start, comparison).go()) return kExitCannotExecute;
  if (options.json_file != "-") print_comparison(options, comparison);
  for (const std::string& each : comparison.problems) complain(each);
  if (!options.json_file.empty() && !write_comparison(options, comparison)) {
    return kExitOwnFailure;
  }
  return comparison.problems.empty() ? kExitOk : kExitNo;
}

}  // namespace corbel::cli
