// SPDX-License-Identifier: Apache-2.0
#include "leaks/leaks_command.hpp"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "process/control.hpp"
#include "program/library.hpp"
#include "run/child.hpp"
#include "temporary_folder.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

Suppressions read_suppressions(const LeaksOptions& options) {
  Suppressions suppressions;
  for (const std::string& file : options.suppressions) suppressions.read(file);
  if (options.suppressions.empty()) {
    const std::string file = suppressions_of_lsan(variable("LSAN_OPTIONS"));
    if (!file.empty()) suppressions.read(file);
  }
  return suppressions;
}

void add(LeakTotals& totals, const LeakPlace& place) {
  totals.places += 1;
  totals.blocks += place.blocks + place.indirect_blocks;
  totals.bytes += place.bytes + place.indirect_bytes;
}

void write_json(const std::string& path, const std::vector<JudgedReport>& reports) {
  const std::string text = leaks_as_json(reports);
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  write_file(path, text);
}

struct Verdict {
  bool leaks = false;   // some are definite
  bool failed = false;  // a process had no scan
};

Verdict report_all(std::vector<JudgedReport> reports, const LeaksOptions& options) {
  std::sort(reports.begin(), reports.end(), [](const JudgedReport& a, const JudgedReport& b) {
    return a.report.process < b.report.process;
  });
  Verdict verdict;
  for (const JudgedReport& each : reports) {
    print_leaks(each, options);
    verdict.leaks |= each.totals[0].blocks != 0;
    verdict.failed |= !each.report.failure.empty();
  }
  if (!options.json_file.empty()) write_json(options.json_file, reports);
  return verdict;
}

std::vector<JudgedReport> read_all(const std::vector<std::string>& files,
                                   const Suppressions& suppressions) {
  std::vector<JudgedReport> reports;
  for (const std::string& file : files) {
    reports.push_back(judge(read_leak_report(file), suppressions));
  }
  return reports;
}

int exit_code(const Verdict& verdict, const LeaksOptions& options, int otherwise) {
  if (options.exit_code == 0) return otherwise;
  if (verdict.leaks) return options.exit_code;
  return verdict.failed ? kExitOwnFailure : otherwise;
}

// The command's own process ends without a report when it does not end by exit(). Returns whether
// that leaves the caller without any: a shell that runs a program often ends so itself.
bool explain_missing(const EndedChild& child, const TemporaryFolder& folder,
                     const std::vector<std::string>& files, const std::string& command) {
  const std::string own = fmt::format("/{}.leaks", child.process);
  const bool found = std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    return file.size() > own.size() && file.compare(file.size() - own.size(), own.size(), own) == 0;
  });
  if (found) return false;
  if (WIFSIGNALED(child.status)) {
    complain(fmt::format("{}: no leak report: signal {} ({}) ended it", command,
                         WTERMSIG(child.status), strsignal(WTERMSIG(child.status))));
  } else if (is_full(folder)) {
    complain(
        fmt::format("{}: no leak report: the disk of {} is full (set TMPDIR to a folder with "
                    "room)",
                    command, folder.path()));
  } else {
    complain(
        fmt::format("{}: no leak report: it did not run on Corbel, ended by _exit or exec (see: "
                    "corbel check -- {}), or could not write it to {} (set TMPDIR to a folder with "
                    "room)",
                    command, command, folder.path()));
  }
  return files.empty();
}

int run_and_report(const LeaksOptions& options, const Suppressions& suppressions) {
  const TemporaryFolder folder("corbel-leaks");
  RunOptions run = options.run;
  run.leaks = options.sampled ? "sampled," : "1,";
  if (!options.every.empty()) run.leaks += "every=" + options.every + ",";
  run.leaks += "file=" + path_for(folder, "CORBEL_LEAKS") + "/%p.leaks";
  const PreparedRun prepared = prepare_run(run);
  if (prepared.error_code != 0) return prepared.error_code;
  const EndedChild child = run_child(run.command, prepared.path);
  const std::vector<std::string> files = folder.files();
  Verdict verdict = report_all(read_all(files, suppressions), options);
  verdict.failed |= explain_missing(child, folder, files, run.command.front());
  const int code = exit_code(verdict, options, -1);
  if (code >= 0) return code;
  // A folder is not removed by a process that ends by a signal.
  std::error_code error;
  std::filesystem::remove_all(folder.path(), error);
  return end_like(child.status);
}

// The threads of the process stand still meanwhile; it takes longer, the more memory it has.
constexpr std::chrono::minutes kScanPatience{30};

int check_process(const LeaksOptions& options, const Suppressions& suppressions) {
  AskOptions how;
  how.into_sandbox = options.into_sandbox;
  how.answer_patience = kScanPatience;
  const Answer answer = ask(options.pid, options.sampled ? "leaks sampled" : "leaks", how);
  if (!answer.is_complete()) {
    complain(printable(answer.error));
    return kExitOwnFailure;
  }
  std::istringstream content(answer.content);
  std::vector<JudgedReport> reports;
  reports.push_back(
      judge(parse_leak_report(content, fmt::format("the answer of process {}", options.pid)),
            suppressions));
  const Verdict verdict = report_all(std::move(reports), options);
  return exit_code(verdict, options, verdict.failed ? kExitOwnFailure : kExitOk);
}

}  // namespace

JudgedReport judge(LeakReport report, const Suppressions& suppressions) {
  JudgedReport judged;
  std::vector<LeakPlace> kept;
  for (LeakPlace& place : report.places) {
    if (place.kind != LeakKind::kReachable && suppressions.match(place)) {
      add(judged.suppressed, place);
    } else {
      add(judged.totals[std::size_t(place.kind)], place);
      kept.push_back(std::move(place));
    }
  }
  report.places = std::move(kept);
  judged.report = std::move(report);
  return judged;
}

int leaks(const LeaksOptions& options) {
  try {
    const Suppressions suppressions = read_suppressions(options);
    if (!options.json_file.empty() && options.json_file != "-") check_writable(options.json_file);
    if (options.pid != 0) return check_process(options, suppressions);
    if (options.files.empty()) return run_and_report(options, suppressions);
    return exit_code(report_all(read_all(options.files, suppressions), options), options, kExitOk);
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitOwnFailure;
  }
}

}  // namespace corbel::cli
