// SPDX-License-Identifier: Apache-2.0
// The lab's way to the engine of `corbel compare` (tools/corbel/compare/linux/measure.cpp): runs a
// command once and writes what it measured as JSON.
//
//   engine --report FILE [--timeout SECONDS] [--set NAME=VALUE]... -- PATH [ARGUMENT]...
//
// The environment of the command is what --set says and nothing else, so that a preloaded library
// does not end up in this program. Standard input, output and errors are inherited. SIGTERM ends
// the command. Exit code: 0 when FILE holds the figures, 1 when the command could not be started
// (FILE holds the error), 2 for wrong use.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../tools/corbel/compare/measure.hpp"

namespace {

int wrong_use(const char* problem) {
  std::fprintf(stderr, "engine: %s\n", problem);
  return 2;
}

bool write_report(const char* path, const corbel::cli::RunResult& run) {
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return false;
  if (run.started) {
    std::fprintf(file,
                 "{\"exit_code\": %d, \"signal\": %d, \"timed_out\": %s, \"wall_seconds\": %.9f, "
                 "\"user_seconds\": %.6f, \"system_seconds\": %.6f, \"peak_rss_bytes\": %llu, "
                 "\"minor_faults\": %llu, \"major_faults\": %llu, \"other_cpu_seconds\": %.3f, "
                 "\"steal_seconds\": %.3f}\n",
                 run.exit_code, run.signal, run.timed_out ? "true" : "false", run.wall, run.user,
                 run.system, static_cast<unsigned long long>(run.peak_rss),
                 static_cast<unsigned long long>(run.minor_faults),
                 static_cast<unsigned long long>(run.major_faults), run.other_cpu, run.steal);
  } else {
    std::fprintf(file, "{\"error\": \"%s\"}\n", run.error.c_str());  // strerror's text
  }
  return std::fclose(file) == 0;
}

}  // namespace

int main(int count, char** words) {
  corbel::cli::RunRequest request;
  request.supervised = true;
  const char* report = nullptr;
  int at = 1;
  for (; at + 1 < count && std::strcmp(words[at], "--") != 0; at += 2) {
    const char* value = words[at + 1];
    if (std::strcmp(words[at], "--report") == 0) {
      report = value;
    } else if (std::strcmp(words[at], "--timeout") == 0) {
      request.timeout = std::atof(value);
    } else if (std::strcmp(words[at], "--set") == 0) {
      request.environment.emplace_back(value);
    } else {
      return wrong_use("unknown option");
    }
  }
  if (at + 1 >= count) return wrong_use("a command is missing");
  if (report == nullptr) return wrong_use("--report FILE is missing");
  request.command.assign(words + at + 1, words + count);
  request.path = request.command.front();
  const corbel::cli::RunResult run = corbel::cli::measure(request);
  if (!write_report(report, run)) return wrong_use("cannot write the report");
  return run.started ? 0 : 1;
}
