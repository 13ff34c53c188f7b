// SPDX-License-Identifier: Apache-2.0
// Checks a command by loading it: Windows loads the program with the replacement, and it is ended
// before its own first instruction. A running process is read from outside.
#include <fmt/core.h>
#include <windows.h>

#include <filesystem>
#include <optional>

#include "check/check.hpp"
#include "check/windows/running_program.hpp"
#include "program/windows/library.hpp"
#include "program/windows/names.hpp"
#include "program/windows/program.hpp"
#include "run/windows/start.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace {

// Of DLLs that take memory from the system themselves and import no C runtime.
bool has_own_runtime(const ProgramModule& module) {
  if (!module.runtimes.empty()) return false;
  for (const PeImport& import : module.image.imports) {
    for (const PeImport::Function& function : import.functions) {
      if (function.name == "HeapAlloc") return true;
    }
  }
  return false;
}

void add_notes(const Program& program, CheckReport& report) {
  for (const ProgramModule& module : program.modules) {
    const std::string name = narrow(std::filesystem::path(wide(module.path)).filename().native());
    if (!has_own_runtime(module) || is_proxy_name(name)) continue;
    report.notes.push_back(fmt::format(
        "{} has its C runtime inside, or none: what it allocates by itself stays there", name));
  }
  for (const std::string& dll : program.missing) {
    report.notes.push_back(
        fmt::format("a DLL of the program is missing: {} (it would not start)", dll));
  }
  if (program.image.is_managed) {
    report.notes.push_back("the program has code for .NET, whose objects live in .NET's own heap");
  }
}

// Ends the process at the end of the scope, before it has run anything of the program.
struct Ending {
  const StartedProcess& started;
  ~Ending() { started.end(); }
};

// The program as it is loaded with `library`, unless that is empty.
void load_and_judge(const Program& program, const std::vector<std::string>& command,
                    const std::string& library, CheckReport& report) {
  StartRequest request;
  request.command = command;
  request.path = program.path;
  request.library = library;
  request.is_trial = true;
  const HANDLE nowhere = CreateFileW(L"NUL", GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                     nullptr, OPEN_EXISTING, 0, nullptr);
  request.output = request.errors = nowhere;
  StartedProcess started;
  std::string problem = started.create(request);
  CloseHandle(nowhere);
  if (problem.empty()) {
    const Ending ending{started};
    problem = run_to_entry(started, program.image.entry);
    if (problem.empty()) judge(started.process(), report);
  }
  if (!problem.empty()) {
    report.reasons.push_back(
        {"loader", fmt::format("{} cannot be loaded: {}", program.path, problem), {}});
  }
}

}  // namespace

CheckReport check_command(const std::vector<std::string>& command, bool as_is, TbbMode tbb) {
  CheckReport report;
  if (tbb != TbbMode::kOff) {
    report.error = "--tbb is not there on Windows";
    report.error_code = 2;
    return report;
  }
  const Program program = examine_program(command.front());
  report.target = program.path.empty() ? command.front() : program.path;
  if (program.error_code != 0) {
    report.error = program.error;
    report.error_code = 2;
    return report;
  }
  if (program.image.has_corbel) {
    // It starts with the program's own code, where a check ends.
    report.error = fmt::format(
        "{} contains Corbel's replacement, which can only be checked while it runs: "
        "use --pid",
        program.path);
    report.error_code = 2;
    return report;
  }
  std::string first;
  if (program.is_linked) {
    report.mode = "as-is";
    report.how = "linked with the replacement";
  } else if (as_is) {
    report.mode = "as-is";
    report.how = "started as it is here, without corbel run";
  } else {
    report.mode = "run";
    const LibrarySearch library = find_library();
    first = library.path;
    report.how = fmt::format("started by corbel run, which has it load {} first",
                             first.empty() ? kProxyName : first);
    if (first.empty()) report.reasons.push_back({"missing-file", library.error, {}});
  }
  for (const Obstacle& obstacle : program.obstacles) report.reasons.push_back(obstacle);
  if (!report.reasons.empty()) return report;
  load_and_judge(program, command, first, report);
  add_notes(program, report);
  return report;
}

CheckReport check_process(int pid) {
  CheckReport report;
  report.target = fmt::format("process {}", pid);
  report.mode = "pid";
  const HANDLE process =
      OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE, static_cast<DWORD>(pid));
  if (process == nullptr) {
    const DWORD error = GetLastError();
    report.error = error == ERROR_INVALID_PARAMETER
                       ? fmt::format("there is no process {}", pid)
                       : fmt::format("cannot look into process {}: {}", pid, error_text(error));
    report.error_code = 2;
    return report;
  }
  wchar_t path[32768];
  DWORD length = 32768;
  if (QueryFullProcessImageNameW(process, 0, path, &length)) report.how = narrow({path, length});
  BOOL is_32_bit = FALSE;
  if (IsWow64Process(process, &is_32_bit) && is_32_bit) {
    report.reasons.push_back({"architecture", "it is a 32-bit program", {}});
  } else {
    judge(process, report);
  }
  CloseHandle(process);
  return report;
}

std::vector<Setting> settings_of(int pid, std::vector<std::string>& notes) {
  if (pid != 0) {
    notes.push_back(
        "its settings are not shown: Windows tells no process the variables of another");
    return {};
  }
  return read_settings(
      read_limits(0), [](const std::string& name) { return variable(name.c_str()); }, notes);
}

}  // namespace corbel::cli
