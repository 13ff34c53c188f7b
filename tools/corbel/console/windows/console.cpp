// SPDX-License-Identifier: Apache-2.0
#include "console/console.hpp"

#include <io.h>
#include <windows.h>
// After windows.h.
#include <shellapi.h>

#include <cstdio>
#include <cstdlib>

#include "terminal.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace {

HANDLE output_of(int fd) { return GetStdHandle(fd == 2 ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE); }

UINT former_code_page = 0;
constexpr DWORD kNoMode = ~DWORD{0};
DWORD former_modes[] = {kNoMode, kNoMode};  // of standard output and standard error

bool read_window(int fd, CONSOLE_SCREEN_BUFFER_INFO& info) {
  return GetConsoleScreenBufferInfo(output_of(fd), &info) != 0;
}

}  // namespace

// main()'s own words are in the ANSI code page, which lacks most letters.
std::vector<std::string> arguments_of(int, char**) {
  std::vector<std::string> words;
  int count = 0;
  wchar_t** const list = CommandLineToArgvW(GetCommandLineW(), &count);
  for (int i = 1; list != nullptr && i < count; ++i) words.push_back(narrow(list[i]));
  LocalFree(list);
  return words;
}

void prepare_terminal() {
  former_code_page = GetConsoleOutputCP();  // 0: there is no console
  SetConsoleOutputCP(CP_UTF8);
  for (const int fd : {1, 2}) {
    DWORD& mode = former_modes[fd - 1];
    if (!GetConsoleMode(output_of(fd), &mode)) {
      mode = kNoMode;
      continue;
    }
    SetConsoleMode(output_of(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
  static const bool once = std::atexit(restore_terminal) == 0;
  (void)once;
}

void restore_terminal() {
  std::fflush(nullptr);
  if (former_code_page != 0) SetConsoleOutputCP(former_code_page);
  for (const int fd : {2, 1}) {
    if (former_modes[fd - 1] != kNoMode) SetConsoleMode(output_of(fd), former_modes[fd - 1]);
  }
}

// _isatty() is true of NUL, too.
bool is_terminal(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  return _isatty(fd) != 0 && read_window(fd, info);
}

int terminal_width(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  return read_window(fd, info) ? info.srWindow.Right - info.srWindow.Left + 1 : 80;
}

int terminal_height(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  return read_window(fd, info) ? info.srWindow.Bottom - info.srWindow.Top + 1 : 24;
}

}  // namespace corbel::cli
