// SPDX-License-Identifier: Apache-2.0
// `corbel compare`: the rounds. In each round every side runs once, in a new random order, so that
// a slow drift of the machine affects all sides alike.
#include "compare/compare.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

#include "compare/output_file.hpp"
#include "compare/progress.hpp"
#include "compare/sides.hpp"
#include "file/write_file.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

// A file without a name that takes one run's output.
class Capture {
 public:
  explicit Capture(const char* name) : fd_(open_unnamed(name)) {}
  ~Capture() {
    if (fd_ >= 0) close_file(fd_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  int fd() const { return fd_; }

  void reset() { empty_file(fd_); }
  std::uint64_t size() const { return file_size(fd_); }
  // FNV-1a of the whole content, so that outputs are compared without being kept.
  std::uint64_t digest() const {
    std::uint64_t hash = 14695981039346656037u;
    char buffer[65536];
    std::uint64_t at = 0;
    for (std::size_t got; (got = read_at(fd_, buffer, sizeof(buffer), at)) > 0; at += got) {
      for (std::size_t i = 0; i < got; ++i) {
        hash = (hash ^ static_cast<unsigned char>(buffer[i])) * 1099511628211u;
      }
    }
    return hash;
  }
  // The last non-empty line.
  std::string last_line() const {
    char buffer[1024];
    const std::uint64_t length = size();
    const std::uint64_t from = length - std::min<std::uint64_t>(length, sizeof(buffer));
    std::string text(buffer, read_at(fd_, buffer, sizeof(buffer), from));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    const std::size_t line = text.rfind('\n');
    return line == std::string::npos ? text : text.substr(line + 1);
  }

 private:
  int fd_;
};

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
    request.library = side.first_library;
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
  int null_ = open_null();
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
  Sides prepared = prepare_sides(options);
  if (prepared.error_code != 0) {
    complain(prepared.error);
    return prepared.error_code;
  }
  Comparison comparison;
  comparison.sides = std::move(prepared.sides);
  if (options.append) {
    if (const std::string problem = read_comparison(options, comparison); !problem.empty()) {
      complain(problem);
      return kExitUsage;
    }
  }
  for (const std::string& warning : prepared.warnings) add_once(comparison.warnings, warning);
  if (!Rounds(options, prepared.start, comparison).go()) return kExitCannotExecute;
  if (options.json_file != "-") print_comparison(options, comparison);
  for (const std::string& each : comparison.problems) complain(each);
  if (!options.json_file.empty() && !write_comparison(options, comparison)) {
    return kExitOwnFailure;
  }
  return comparison.problems.empty() ? kExitOk : kExitNo;
}

}  // namespace corbel::cli
