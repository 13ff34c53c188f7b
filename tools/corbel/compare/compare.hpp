// SPDX-License-Identifier: Apache-2.0
// `corbel compare`: runs a command repeatedly, in turn on the system's malloc and on Corbel, and
// reports what differs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/measure.hpp"
#include "program/tbb_report.hpp"

namespace corbel::cli {

struct CompareOptions {
  std::vector<std::string> command;
  int runs = 10;
  int warmup = 1;
  std::string json_file;
  bool append = false;            // continue the comparison in `json_file`
  std::vector<std::string> with;  // "NAME=LIB.so"
  std::uint64_t seed = 1;
  TbbMode tbb = TbbMode::kOff;
  bool show_output = false;
  bool check_output = false;
  bool force = false;
  bool quiet = false;
};

// One way to run the command.
struct Side {
  std::string name;
  std::string library;  // empty: the system's malloc
  std::string tbb;      // Corbel's libtbb.so.12; empty: the program's own
  std::vector<std::string> environment;
  std::string first_library;  // RunRequest::library
  std::vector<RunResult> results;
};

struct Comparison {
  std::vector<Side> sides;            // the system's malloc is the first
  std::vector<std::size_t> order;     // side of each run, in the order in which they ran
  std::vector<std::string> problems;  // the runs do not agree: exit code 1
  std::vector<std::string> warnings;
};

// Whether other processes, or the hypervisor, took enough processor time to matter.
bool disturbed(const RunResult& run);

// Runs the sub-command; returns the exit code.
int compare(const CompareOptions& options);

// The report, for people and for programs.
void print_comparison(const CompareOptions& options, const Comparison& comparison);
bool write_comparison(const CompareOptions& options, const Comparison& comparison);

// Adds the runs that `options.json_file` holds to `comparison`, whose sides are set up; a file that
// does not exist holds none. Returns an error line when the file holds another comparison.
std::string read_comparison(const CompareOptions& options, Comparison& comparison);

}  // namespace corbel::cli
