// SPDX-License-Identifier: Apache-2.0
#include "run/windows/start.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "program/windows/pe_image.hpp"
#include "run/windows/add_import.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

// A path of the file in the ANSI code page; empty when it has none.
std::string ansi_path(const std::wstring& path) {
  const auto convert = [](const std::wstring& from) {
    char text[4096];
    BOOL lossy = FALSE;
    const int size = WideCharToMultiByte(CP_ACP, WC_NO_BEST_FIT_CHARS, from.c_str(), -1, text,
                                         sizeof text, nullptr, &lossy);
    return size > 0 && !lossy ? std::string(text) : std::string();
  };
  if (const std::string plain = convert(path); !plain.empty()) return plain;
  wchar_t short_path[4096];
  const DWORD length = GetShortPathNameW(path.c_str(), short_path, 4096);
  return length > 0 && length < 4096 ? convert(short_path) : std::string();
}

// The library, and before it the DLLs beside it that it needs: the loader would look for those in
// the folder of the program, not of the library. It takes what is loaded already.
std::string list_imports(const std::string& library, std::vector<AddedImport>& list) {
  const fs::path path = wide(library);
  std::vector<fs::path> wanted;
  const auto image = read_pe_image(library);
  if (!image) return "it is not a DLL: " + library;
  if (image->machine != kMachineX64) {
    return "it is for " + machine_name(image->machine) + ": " + library;
  }
  for (const PeImport& import : image->imports) {
    const fs::path beside = path.parent_path() / wide(import.dll);
    std::error_code error;
    if (!import.delayed && fs::is_regular_file(beside, error)) wanted.push_back(beside);
  }
  wanted.push_back(path);
  for (const fs::path& each : wanted) {
    const std::string name = narrow(each.native());
    const auto facts = each == path ? image : read_pe_image(name);
    if (!facts || facts->ordinal == 0) return "it exports nothing: " + name;
    const std::string ansi = ansi_path(each.native());
    if (ansi.empty()) {
      return "its path has letters that the system's ANSI code page lacks: " + name;
    }
    list.push_back({ansi, facts->ordinal});
  }
  return {};
}

void append_quoted(std::wstring& line, const std::wstring& word) {
  if (!word.empty() && word.find_first_of(L" \t\n\v\"") == std::wstring::npos) {
    line += word;
    return;
  }
  line += L'"';
  // Backslashes are themselves, but for those before a quotation mark.
  std::size_t backslashes = 0;
  for (const wchar_t c : word) {
    if (c == L'\\') {
      ++backslashes;
      continue;
    }
    line.append(c == L'"' ? 2 * backslashes + 1 : backslashes, L'\\');
    line += c;
    backslashes = 0;
  }
  line.append(2 * backslashes, L'\\');
  line += L'"';
}

BOOL WINAPI take_interrupt(DWORD event) {
  return event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? TRUE : FALSE;
}

// A job whose processes end when this process closes it, or ends. On systems that have no jobs in
// jobs there may be none for the child.
HANDLE make_job() {
  const HANDLE job = CreateJobObjectW(nullptr, nullptr);
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  return job;
}

// As a handle that a child can inherit; this process's own where none is given.
HANDLE inheritable(HANDLE given, DWORD standard) {
  const HANDLE handle = given != nullptr ? given : GetStdHandle(standard);
  if (handle != nullptr && handle != INVALID_HANDLE_VALUE) {
    SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
  }
  return handle;
}

}  // namespace

std::wstring command_line(const std::vector<std::string>& words) {
  std::wstring line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) line += L' ';
    // In the first word backslashes are themselves everywhere, and it cannot have quotation marks.
    if (i == 0) {
      line += L'"' + wide(words[0]) + L'"';
    } else {
      append_quoted(line, wide(words[i]));
    }
  }
  return line;
}

StartedProcess::~StartedProcess() {
  if (thread_ != nullptr) CloseHandle(thread_);
  if (process_ != nullptr) CloseHandle(process_);
  if (job_ != nullptr) CloseHandle(job_);
}

std::string StartedProcess::create(const StartRequest& request) {
  std::vector<AddedImport> imports;
  if (!request.library.empty()) {
    const std::string problem = list_imports(request.library, imports);
    if (!problem.empty()) return "the library cannot be loaded: " + problem;
  }
  std::fflush(nullptr);
  STARTUPINFOW start{};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = inheritable(nullptr, STD_INPUT_HANDLE);
  start.hStdOutput = inheritable(request.output, STD_OUTPUT_HANDLE);
  start.hStdError = inheritable(request.errors, STD_ERROR_HANDLE);
  std::wstring line = command_line(request.command);
  PROCESS_INFORMATION made{};
  const UINT mode = GetErrorMode();  // which the child inherits
  if (request.is_trial) SetErrorMode(mode | SEM_FAILCRITICALERRORS);
  const bool is_made = CreateProcessW(wide(request.path).c_str(), line.data(), nullptr, nullptr,
                                      TRUE, CREATE_SUSPENDED, nullptr, nullptr, &start, &made);
  const DWORD error = GetLastError();
  SetErrorMode(mode);
  if (!is_made) return error_text(error);
  process_ = made.hProcess;
  thread_ = made.hThread;
  if (request.is_trial) {
    job_ = make_job();
    AssignProcessToJobObject(job_, process_);
  }
  if (imports.empty()) return {};
  const std::string problem = add_imports(process_, imports);
  if (!problem.empty()) end();
  return problem;
}

LeaveInterruptsToCommand::LeaveInterruptsToCommand() {
  SetConsoleCtrlHandler(take_interrupt, TRUE);
}

LeaveInterruptsToCommand::~LeaveInterruptsToCommand() {
  SetConsoleCtrlHandler(take_interrupt, FALSE);
}

}  // namespace corbel::cli
